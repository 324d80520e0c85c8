"""Date folders, rolling policies and name parts."""

from __future__ import annotations

import datetime
import pickle

import pytest

from headrace.connectors.output_files import BucketAssigner, OutputFileConfig, RollingPolicy
from headrace.errors import InvalidArgument, TypeMismatch


def bucket(*arguments: str | None) -> str:
    assigner = BucketAssigner.date_time_bucket_assigner(*arguments)
    return pickle.loads(pickle.dumps(assigner)).bucket_id("record", None)


@pytest.mark.parametrize(
    ("pattern", "python"),
    [
        ("yyyy-MM-dd--HH", "%Y-%m-%d--%H"),
        ("yyyy/MM/dd", "%Y/%m/%d"),
        ("'day='yyyyMMdd", "day=%Y%m%d"),
        ("yyyy'T''x'", "%YT'x"),
        ("uuuu-DDD", "%Y-%j"),
    ],
)
def test_date_patterns(pattern, python):
    before = datetime.datetime.now(datetime.UTC)
    found = bucket(pattern, "UTC")
    after = datetime.datetime.now(datetime.UTC)
    assert found in {before.strftime(python), after.strftime(python)}


def test_default_pattern_in_local_time():
    before, found, after = (
        datetime.datetime.now(),
        bucket(),
        datetime.datetime.now(),
    )
    assert found in {moment.strftime("%Y-%m-%d--%H") for moment in (before, after)}


def test_time_zones_change_the_folder():
    hours = [int(bucket("HH", zone)) for zone in ("UTC", "GMT+05:00", "Asia/Tokyo")]
    if hours == [int(bucket("HH", zone)) for zone in ("UTC", "GMT+05:00", "Asia/Tokyo")]:
        assert [(hour - hours[0]) % 24 for hour in hours] == [0, 5, 9]


def test_unpadded_letters():
    now = datetime.datetime.now(datetime.UTC)
    assert bucket("M", "Z") in {str(now.month), str(now.month % 12 + 1)}


@pytest.mark.parametrize("pattern", ["yyyy-QQ", "", "'open", "n"])
def test_wrong_patterns_are_refused_where_they_are_written(pattern):
    with pytest.raises(InvalidArgument, match="date pattern") as caught:
        BucketAssigner.date_time_bucket_assigner(pattern)
    assert caught.value.origin.file == __file__


def test_unknown_zone():
    with pytest.raises(InvalidArgument, match="unknown time zone 'Mars/Base'"):
        BucketAssigner.date_time_bucket_assigner("HH", "Mars/Base")


def test_the_base_path_assigner_makes_no_folder():
    assert BucketAssigner.base_path_bucket_assigner().bucket_id("x", 1) == ""


def test_rolling_policies():
    policy = RollingPolicy.default_rolling_policy(10, 20, 30)
    assert (policy.part_size, policy.rollover_interval, policy.inactivity_interval) == (10, 20, 30)
    assert RollingPolicy.on_checkpoint_rolling_policy().part_size is None
    with pytest.raises(InvalidArgument, match="part_size must be above 0"):
        RollingPolicy.default_rolling_policy(part_size=-1)
    with pytest.raises(TypeMismatch, match="rollover_interval must be a whole number"):
        RollingPolicy.default_rolling_policy(rollover_interval=1.5)


def test_a_prefix_is_no_path():
    with pytest.raises(InvalidArgument, match="'a/b' cannot be the prefix"):
        OutputFileConfig("a/b", "")

"""Names of side outputs."""

import pickle

import pytest

from headrace.core.output_tag import OutputTag
from headrace.core.types import Types
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported


def test_a_tag_is_its_name() -> None:
    tag = OutputTag("late", Types.STRING())
    assert tag == OutputTag("late")
    assert hash(tag) == hash(OutputTag("late"))
    assert tag != OutputTag("other")
    assert tag != "late"
    assert repr(tag) == "OutputTag('late')"
    again = pickle.loads(pickle.dumps(tag))
    assert (again, again.type_info) == (tag, Types.STRING())


def test_types_of_a_tag() -> None:
    assert OutputTag("a").type_info == Types.PICKLED_BYTE_ARRAY()
    assert OutputTag("a", [Types.INT()]).type_info == Types.ROW([Types.INT()])


def test_bad_tags() -> None:
    for name in ("", None, 5):
        with pytest.raises(InvalidArgument, match="needs a name"):
            OutputTag(name)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match="'a' is <class 'int'>, which is not a type"):
        OutputTag("a", int)  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="no Java form"):
        OutputTag("a").get_java_output_tag()

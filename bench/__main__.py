"""`python -m bench` lists the benchmarks; `python -m bench NAME…` or `all` runs them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.status import Status
from rich.table import Table

from bench import report
from bench.agreement import agreements
from bench.engines import CannotMeasure
from bench.suite import BENCHMARKS, Benchmark, Setting

ALL, AGREE = "all", "agree"


def main() -> int:
    """Run what the arguments name; 0 when every target was reached."""
    args = arguments()
    console = Console()
    if not args.names:
        console.print(listing())
        return 0
    try:
        if args.names == [AGREE]:
            return compare(console)
        setting = Setting(
            args.repeats, not args.no_peers, console.print, args.minutes, args.kill_every
        )
        return measure(console, chosen(args.names), setting)
    except CannotMeasure as problem:
        complain(console, problem)
        return 2


def arguments() -> argparse.Namespace:
    """Parse the command line and refuse names that are not in the list."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks, `{ALL}` or `{AGREE}`"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case (default 3)")
    parser.add_argument("--no-peers", action="store_true", help="measure headrace alone")
    parser.add_argument("--minutes", type=float, default=120, help="of `soak` (default 120)")
    parser.add_argument(
        "--kill-every", type=float, default=10, help="minutes between kills of `soak` (default 10)"
    )
    args = parser.parse_args()
    known = {benchmark.name for benchmark in BENCHMARKS} | {ALL, AGREE}
    for name in args.names:
        if name not in known:
            parser.error(f"no benchmark {name!r}; there are {', '.join(sorted(known))}")
    if AGREE in args.names and len(args.names) > 1:
        parser.error(f"`{AGREE}` stands alone")
    return args


def listing() -> Table:
    """The list of benchmarks."""
    table = Table("name", "what it measures", title="python -m bench NAME")
    for benchmark in BENCHMARKS:
        table.add_row(benchmark.name, benchmark.summary)
    table.add_section()
    table.add_row(ALL, "all of them but `soak`")
    table.add_row(AGREE, "whether both engines give the same results on the benchmark jobs")
    return table


def chosen(names: Sequence[str]) -> list[Benchmark]:
    """The benchmarks that the names mean, in the order of the list."""
    return [found for found in BENCHMARKS if found.name in names or (ALL in names and found.of_all)]


def measure(console: Console, benchmarks: Sequence[Benchmark], setting: Setting) -> int:
    """Run benchmarks; save each as it ends, so that a long run cut short loses little."""
    outcomes, failed = [], False
    for benchmark in benchmarks:
        with console.status(benchmark.name) as status:

            def progress(step: str, name: str = benchmark.name, status: Status = status) -> None:
                status.update(f"{name}: {step}")

            try:
                outcomes.append(benchmark.run(replace(setting, progress=progress)))
            except CannotMeasure as problem:
                failed = True
                complain(console, problem)
                continue
        if setting.with_peers:
            report.save(outcomes[-1])
    if outcomes:
        report.show(console, outcomes)
    if outcomes and setting.with_peers:
        console.print(f"results in {report.LATEST}, plot in {report.plot(report.saved())}")
    return 2 if failed else int(not all(outcome.passed for outcome in outcomes))


def complain(console: Console, problem: Exception) -> None:
    """Print what went wrong; the text is a job's output, so nothing in it is markup."""
    console.print(f"{type(problem).__name__}: {problem}", style="red", markup=False)


def compare(console: Console) -> int:
    """Compare the engines' results and print a line for each job."""
    with console.status("comparing") as status:
        found = agreements(status.update)
    for agreement in found:
        verdict = "[green]same[/]" if agreement.holds else "[red]different[/]"
        console.print(
            f"{agreement.script}: {verdict}, {agreement.records} records, "
            f"{agreement.only_headrace} only on headrace, {agreement.only_pyflink} only on PyFlink"
        )
    return 0 if all(agreement.holds for agreement in found) else 1


if __name__ == "__main__":
    sys.exit(main())

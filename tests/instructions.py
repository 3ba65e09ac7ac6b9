"""Instructions a packet on recorded shapes (`make instructions`); `--keep` commits to them."""

import sys

from tests.support.bench import figures, instructions


def main() -> int:
    before, found = instructions.kept(), instructions.counted()
    for name, now in found.shapes.items():
        print(f"{name}: {now} instructions a packet (kept: {before.shapes.get(name, 'none')})")
    if "--keep" in sys.argv[1:]:
        text = figures.PAGE.read_text()
        shown = text.replace(instructions.table(before), instructions.table(found))
        figures.PAGE.write_text(shown)
        instructions.keep(found)
        return 0
    if found.compiler != before.compiler:
        print(f"Not compared: {found.compiler}, kept are those of {before.compiler}")
        return 0
    worse = found.worse_than(before)
    print("\n".join(f"{name}: more than 3 % worse" for name in worse))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

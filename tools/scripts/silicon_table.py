"""Tables of cycles beside silicon, for base-clock.sh and boost-clock.sh: cycles replaced, errors before and after printed."""

import csv
import math


def records(path):
    """The rows of a CSV file with comments, by column."""
    return csv.DictReader(line for line in open(path) if not line.startswith("#"))


class Table:
    """A committed table, of which one column is measured anew."""

    def __init__(self, path, column, silicon):
        lines = open(path).read().splitlines()
        self.comments = [line for line in lines if line.startswith("#")]
        rows = list(csv.reader(line for line in lines if not line.startswith("#")))
        self.header, self.rows = rows[0], rows[1:]
        self.column, self.silicon = self.header.index(column), self.header.index(silicon)
        self.before, self.after = [], []

    def replace(self, row, now):
        """Sets the cycles of a row; those that it had, and silicon's."""
        then, silicon = int(row[self.column]), int(row[self.silicon])
        self.before.append(then / silicon)
        self.after.append(now / silicon)
        row[self.column] = f"{now:.0f}"
        return then, silicon

    def finish(self, what, out):
        """Prints the errors of the rows that were replaced, and writes the table."""
        for name, ratios in (("table", self.before), ("now", self.after)):
            error = sum(abs(one - 1) for one in ratios) / len(ratios)
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            near = sum(abs(one - 1) <= 0.3 for one in ratios)
            print(f"{name}: {len(ratios)} {what}, mean absolute error {error:.1%}, geometric mean {mean:.3f}, {near} within 30 %")
        lines = self.comments + [",".join(row) for row in [self.header] + self.rows]
        with open(out, "w", newline="") as file:
            file.write("\n".join(lines) + "\n")

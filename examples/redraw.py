"""Redraws the CPI stacks of a report: python3 redraw.py REPORT-FOLDER cpi.png (needs polars and matplotlib)."""
import sys
import matplotlib.pyplot as plt
import polars as pl

table = pl.read_parquet(f"{sys.argv[1]}/parquet/cpi-stack.parquet")
bottom = 0.0
for cause in table.columns[1:]:
    plt.bar(table["trace"], table[cause], bottom=bottom, label=cause.replace("_", " "))
    bottom = bottom + table[cause]
plt.ylabel("scheduler slots per warp instruction")
plt.legend()
plt.savefig(sys.argv[2])

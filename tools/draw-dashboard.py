#!/usr/bin/env python3
"""draw-dashboard.py GLINT-SERVER GLINT PICTURE: draws the Grafana dashboard with matplotlib from real data.

Two servers work under changing load for 80 seconds, a Prometheus with the delivered rules watches them, and every panel of
deploy/grafana/glint.json is drawn where Grafana would put it, from the answers to its own queries. Needs the packages
prometheus and python3-matplotlib.
"""

import contextlib
import json
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/deploy"))
sys.dont_write_bytecode = True

from stack import ROOT, Load, Prometheus, Server, need, shortened, write_png  # noqa: E402

SECONDS = 80
STEP = 0.5
FASTER = 60  # the rules' windows are minutes, and there is one
BACKGROUND, PANEL, TEXT = "#111217", "#181b1f", "#ccccdc"
FORMATS = {"s": lambda v: f"{v * 1000:.3g} ms" if v < 1 else f"{v:.3g} s", "percentunit": lambda v: f"{v:.1%}",
           "ops": lambda v: f"{v:.3g}/s", "bytes": lambda v: f"{v / 2**20:.4g} MiB", "Bps": lambda v: f"{v / 1e6:.3g} MB/s"}


def record(server_binary, glint, folder):
    """Ranges of answers by query: {query: [(labels, times, values)]}, and the dashboard."""
    with open(os.path.join(ROOT, "deploy/grafana/glint.json")) as f:
        dashboard = json.load(f)
    with open(os.path.join(ROOT, "deploy/prometheus/glint.rules.yml")) as f:
        rules = shortened(f.read(), FASTER)
    for name, size in (("small", (320, 240)), ("large", (1280, 960))):
        for i in range(3):
            os.makedirs(f"{folder}/{name}", exist_ok=True)
            write_png(f"{folder}/{name}/{i}.png", *size, i)
    os.mkdir(f"{folder}/bad")
    write_png(f"{folder}/bad/0.png", 320, 240, 9)
    with open(f"{folder}/bad/1.png", "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\nno picture")
    flags = ["--backend", "cpu", "--lanes", "1", "--queue-capacity", "8"]
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Server(server_binary, glint, flags)) for _ in range(2)]
        prometheus = Prometheus(folder, rules, [server.metrics_address for server in servers])
        stack.callback(prometheus.stop)

        def stream(server, source, in_flight):
            return Load(glint, "stream", "--server", server.address, "--loop", "--max-frames", "150", "--in-flight",
                        str(in_flight), f"{folder}/{source}", pause=0.5)

        begin = time.time()
        for server in servers:
            stack.enter_context(stream(server, "small", 1))
        stack.enter_context(Load(glint, "detect", "--server", servers[0].address, f"{folder}/small/0.png", pause=0.3))
        time.sleep(SECONDS * 0.35)
        with stream(servers[0], "large", 8), stream(servers[1], "bad", 1):
            time.sleep(SECONDS * 0.35)
        time.sleep(SECONDS * 0.3)
        end = time.time()
        answers = {}
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                query = target["expr"].replace("$__rate_interval", "5s").replace("$instance", ".*")
                result = prometheus.get("query_range", query=query, start=begin + 5, end=end, step=STEP)["result"]
                answers[target["expr"]] = [
                    (series["metric"], [at - begin for at, _ in series["values"]],
                     [float(value) for _, value in series["values"]]) for series in result]
    return dashboard, answers


def legend(target, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), target.get("legendFormat") or "").strip()


def draw_stat(axes, panel, answers, show):
    axes.set_axis_off()
    (target,) = panel["targets"]
    series = answers[target["expr"]]
    values = [v for v in series[0][2] if v == v] if series else []
    axes.text(0.5, 0.45, show(values[-1]) if values else "no data", ha="center", va="center", fontsize=15, color="#73bf69",
              transform=axes.transAxes)


def draw_table(axes, panel, answers):
    axes.set_axis_off()
    rows = [labels for labels, _, _ in answers[panel["targets"][0]["expr"]]]
    columns = ["instance", "version", "backend", "device", "simd"]
    table = axes.table([[row.get(column, "") for column in columns] for row in rows], colLabels=columns, loc="upper center")
    table.auto_set_font_size(False)
    table.set_fontsize(6)
    for cell in table.get_celld().values():
        cell.set(facecolor=PANEL, edgecolor="#333333")
        cell.get_text().set_color(TEXT)


def draw_lines(axes, panel, answers, show):
    lines = []
    for target in panel["targets"]:
        for labels, times, values in answers[target["expr"]]:
            lines.append((legend(target, labels), times, [0.0 if v != v else v for v in values]))
    stacked = panel["fieldConfig"]["defaults"].get("custom", {}).get("stacking", {}).get("mode") == "normal"
    if stacked and lines:
        times = sorted({at for _, line, _ in lines for at in line})
        rows = [[dict(zip(line, values)).get(at, 0.0) for at in times] for _, line, values in lines]
        axes.stackplot(times, rows, labels=[name for name, _, _ in lines], alpha=0.7, linewidth=0)
    else:
        for name, times, values in lines:
            axes.plot(times, values, label=name, linewidth=0.9)
    axes.set_ylim(bottom=0)
    axes.set_xlim(5, SECONDS)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: show(value))
    axes.tick_params(colors=TEXT, labelsize=5, length=2)
    axes.grid(color="#2c2f36", linewidth=0.4)
    if lines:
        axes.legend(fontsize=4.5, loc="upper left", labelcolor=TEXT, facecolor=PANEL, edgecolor="none", framealpha=0.6,
                    ncol=2 if len(lines) > 4 else 1)
    else:
        axes.text(0.5, 0.5, "no data", ha="center", color=TEXT, transform=axes.transAxes)


def draw(dashboard, answers, path):
    bottom = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    figure = pyplot.figure(figsize=(14, bottom * 0.30), facecolor=BACKGROUND)
    for panel in dashboard["panels"]:
        grid = panel["gridPos"]
        x, w = grid["x"] / 24, grid["w"] / 24
        y, h = 1 - (grid["y"] + grid["h"]) / bottom, grid["h"] / bottom
        if panel["type"] == "row":
            figure.text(x + 0.005, y + h * 0.3, panel["title"], color=TEXT, fontsize=9, weight="bold")
            continue
        axes = figure.add_axes([x + 0.035, y + 0.012, w - 0.045, h - 0.028], facecolor=PANEL)
        axes.set_title(panel["title"], color=TEXT, fontsize=7, loc="left", pad=3)
        for spine in axes.spines.values():
            spine.set_visible(False)
        unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit")
        show = FORMATS.get(unit, lambda value: f"{value:.6g}")
        if panel["type"] == "stat":
            draw_stat(axes, panel, answers, show)
        elif panel["type"] == "table":
            draw_table(axes, panel, answers)
        else:
            draw_lines(axes, panel, answers, show)
    figure.savefig(path, dpi=90, facecolor=BACKGROUND)
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def main():
    need("prometheus")
    with tempfile.TemporaryDirectory() as folder:
        dashboard, answers = record(*map(os.path.realpath, sys.argv[1:3]), folder)
    empty = [query for query, series in answers.items() if not series]
    print(f"{len(answers)} queries, {len(empty)} without data: {empty}")
    draw(dashboard, answers, sys.argv[3])
    print(f"{sys.argv[3]}: {os.path.getsize(sys.argv[3])} bytes")


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator
    from PIL import Image

    main()

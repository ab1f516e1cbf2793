"use strict";
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const main = document.querySelector("main");
  const palette = ["#3b6fb6", "#d9822b", "#2e8b57", "#8e5ea2", "#c0392b", "#16a085", "#7f6000", "#5d6b7a"];
  const stateColors = ["#eef2f6", "#2e8b57", "#9fd8ba", "#9aa7b5", "#7fb7d6", "#c0392b", "#e0a458"];
  const fromStores = report.source === "stores";
  const colorOf = Object.fromEntries(report.tasks.map((task, i) => [task.task_id, palette[i % palette.length]]));
  const config = { displaylogo: false, responsive: true };
  const font = { family: "system-ui, sans-serif", size: 12, color: "#1d2733" };

  // Text is only ever set as text, so that nothing in an error message is taken for markup.
  function element(tag, parent, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    if (parent) parent.append(made);
    return made;
  }
  function section(title, id) {
    const made = element("section", main);
    made.id = id;
    element("h2", made, title);
    return made;
  }
  function table(parent, header, rows, className) {
    const made = element("table", element("div", parent, undefined, "scroll"), undefined, className);
    const top = element("tr", element("thead", made));
    header.forEach((cell) => element("th", top, cell));
    const body = element("tbody", made);
    rows.forEach((row) => {
      const line = element("tr", body);
      row.forEach((cell) => (Array.isArray(cell) ? element("td", line, cell[0], cell[1]) : element("td", line, cell)));
    });
    return made;
  }
  function seconds(value) {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0 s";
    const size = Math.abs(value);
    if (size < 1e-3) return (value * 1e6).toPrecision(3) + " µs";
    if (size < 1) return (value * 1e3).toPrecision(3) + " ms";
    if (size < 120) return value.toPrecision(3) + " s";
    return size < 7200 ? (value / 60).toFixed(1) + " min" : (value / 3600).toFixed(1) + " h";
  }
  function bytes(value) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let unit = 0;
    while (value >= 1000 && unit < 4) { value /= 1000; unit += 1; }
    return value.toFixed(unit ? 1 : 0) + " " + units[unit];
  }
  function unpack(text, type) {
    if (text === null) return null;
    const raw = atob(text);
    const buffer = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i += 1) buffer[i] = raw.charCodeAt(i);
    return type === Uint8Array ? buffer : new type(buffer.buffer);
  }
  function plot(parent, traces, layout, height) {
    const place = element("div", parent);
    // On a phone the names of the traces stand above each other, over the drawing.
    const legend = window.innerWidth < 600 && traces.length > 1 ? 20 * Math.min(traces.length, 12) : 0;
    Plotly.newPlot(place, traces, {
      font, height: height + legend, margin: { l: 70, r: 20, t: 34, b: 45 }, paper_bgcolor: "#fff", plot_bgcolor: "#fff",
      legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom" }, ...layout,
    }, config);
    return place;
  }

  function head() {
    const top = element("header", main);
    if (fromStores) { headOfStores(top); return; }
    const word = report.cancelled ? "was interrupted" : report.succeeded ? "succeeded" : "did not finish all blocks";
    element("h1", top, "The run " + word, report.succeeded ? "good" : report.cancelled ? "warn" : "bad");
    const done = report.tasks.reduce((sum, task) => sum + task.counts.completed, 0);
    const facts = [report.created, "took " + seconds(report.wall_seconds), done + " blocks completed", "daisy " + report.daisy_version];
    element("div", top, facts.join("  ·  "), "facts");
  }

  function headOfStores(top) {
    const sum = (name) => report.tasks.reduce((total, task) => total + task.counts[name], 0);
    const going = report.tasks.some((task) => task.state === "running");
    element("h1", top, report.succeeded ? "Everything is done" : going ? "The run goes on" : "The run did not come to its end", report.succeeded ? "good" : going ? "warn" : "bad");
    const facts = [report.created, sum("completed") + " blocks done", sum("skipped") + " masked", sum("failed") + " failed", sum("not_done") + " not done", "daisy " + report.daisy_version];
    element("div", top, facts.join("  ·  "), "facts");
    element("div", top, "Made from the tracking stores: they keep what is done, not who did it or when. Why blocks failed is in the logs of the workers.", "facts");
  }

  function tasks() {
    const place = section("Tasks", "tasks");
    const header = ["task", "state", "blocks", ...(fromStores ? ["done", "masked", "failed", "not done", "failed attempts"] : ["completed", "skipped", "failed", "orphaned", "failed attempts", "timeouts", "worker restarts"])];
    table(place, header, report.tasks.map((task) => {
      const { counts } = task;
      const state = [task.state, task.state === "done" ? "" : task.state === "running" && fromStores ? "warn" : "bad"];
      const first = [task.task_id, state, counts.total, counts.completed, counts.skipped, [counts.failed, counts.failed ? "bad" : ""]];
      if (fromStores) return [...first, [counts.not_done, counts.not_done ? "warn" : ""], counts.failed_attempts];
      return [...first, [counts.orphaned, counts.orphaned ? "warn" : ""], counts.failed_attempts, counts.timeouts, counts.worker_restarts];
    }));
    const blocks = ["per block", "mean", "median", "p95", "longest", "slope", "stragglers", "measured", "CPU", "peak RSS", "read", "written"];
    table(place, blocks, report.tasks.map((task) => {
      const { counts, time, measured } = task;
      const used = measured.blocks ? [seconds(measured.cpu_seconds), bytes(measured.peak_rss_bytes), bytes(measured.io_read_bytes), bytes(measured.io_write_bytes)] : ["–", "–", "–", "–"];
      const times = task.time.longest > 0 || (report.history && counts.processed > counts.failed_attempts) ? [seconds(time.mean), seconds(time.median), seconds(time.p95), seconds(time.longest), seconds(time.slope), time.straggler_count ?? "–"] : ["–", "–", "–", "–", "–", "–"];
      return [task.task_id, ...times, measured.blocks || "–", ...used];
    }));
    report.tasks.filter((task) => task.reason).forEach((task) => element("p", place, task.task_id + (fromStores ? ": " : " was abandoned: ") + task.reason, fromStores ? "facts" : "bad"));
  }

  function throughput() {
    if (!report.history) return;
    const place = section("Throughput", "throughput");
    // Fewer and wider bins than were recorded: single blocks are in the timeline below.
    const merged = Math.max(1, Math.ceil(Math.max(...report.history.throughput.map((bins) => bins.length)) / 128));
    const width = report.history.bin_seconds * merged;
    const wide = (bins) => Array.from({ length: Math.ceil(bins.length / merged) }, (_, i) => bins.slice(i * merged, (i + 1) * merged).reduce((a, b) => a + b, 0));
    const traces = report.history.throughput.map(wide).map((bins, i) => ({
      name: report.history_tasks[i], x: bins.map((_, bin) => bin * width), y: bins.map((count) => count / width),
      type: "scatter", mode: "lines", line: { shape: "hv", width: 1.5, color: colorOf[report.history_tasks[i]] },
    }));
    plot(place, traces, { xaxis: { title: { text: "seconds since the start" } }, yaxis: { title: { text: "blocks per second" }, rangemode: "tozero" } }, 280);
  }

  function histogram() {
    const place = section("Time per block", "histogram");
    const traces = report.tasks.filter((task) => task.time.histogram.length).map((task) => ({
      name: task.task_id, type: "scatter", mode: "lines", fill: "tozeroy",
      line: { shape: "hv", width: 1, color: colorOf[task.task_id] },
      x: task.time.histogram.map((bar) => bar[0]).concat(task.time.histogram.at(-1)[1]),
      y: task.time.histogram.map((bar) => bar[2]).concat(0),
    }));
    if (!traces.length) { element("p", place, report.history ? "No block came back in this run." : "No block was measured: that is done with resource_tracking=True.", "facts"); return; }
    const edges = traces.flatMap((trace) => trace.x).filter((edge) => edge > 0);
    const ticks = logTicks(Math.min(...edges), Math.max(...edges));
    plot(place, traces, { xaxis: { type: "log", title: { text: "time per block" }, tickvals: ticks, ticktext: ticks.map(round) }, yaxis: { title: { text: "blocks" }, rangemode: "tozero" } }, 280);
  }

  function round(value) {
    const [unit, name] = value < 0.9e-3 ? [1e-6, " µs"] : value < 0.9 ? [1e-3, " ms"] : [1, " s"];
    return Number((value / unit).toPrecision(3)) + name;
  }
  // As many of 1, 2 and 5 times a power of ten as there is room for.
  function logTicks(from, to) {
    const steps = to / from < 30 ? [1, 2, 5] : to / from < 1e4 ? [1, 3] : [1];
    const ticks = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1) {
      steps.forEach((step) => ticks.push(step * 10 ** power));
    }
    return ticks;
  }

  function workers() {
    if (!report.history) return;
    const place = section("Workers", "workers");
    const { spans, lanes, spans_left_out: leftOut, bin_seconds: width } = report.history;
    const known = report.tasks.flatMap((task) => task.workers.map((worker) => [worker.worker_id, task.task_id]));
    const names = new Map(known.sort((a, b) => a[0] - b[0]).map(([id, task]) => [id, task + " " + id]));
    const nameOf = (id) => (id === null ? "not registered" : names.get(id) || "worker " + id);
    const rows = [...names.values()];
    const height = Math.min(1400, 90 + 18 * Math.max(3, rows.length));
    const axes = { xaxis: { title: { text: "seconds since the start" } }, yaxis: { type: "category", categoryorder: "array", categoryarray: rows.reverse(), automargin: true, ...(rows.length <= 60 ? { dtick: 1 } : {}) } };
    if (!leftOut) {
      const groups = new Map();
      spans.forEach((span) => {
        const task = report.history_tasks[span.task];
        const name = span.succeeded ? task : "failed";
        if (!groups.has(name)) groups.set(name, { name, type: "scatter", mode: "lines", x: [], y: [], text: [], hoverinfo: "text", line: { width: 9, color: span.succeeded ? colorOf[task] : "#c0392b" } });
        const group = groups.get(name);
        const text = task + " block " + span.index + ": " + seconds(span.end - span.begin) + (span.succeeded ? "" : ", failed");
        group.x.push(span.begin, span.end, null);
        group.y.push(nameOf(span.worker), nameOf(span.worker), null);
        group.text.push(text, text, null);
      });
      plot(place, [...groups.values()], axes, height);
    } else {
      element("p", place, "Too many blocks to draw each: the share of time in which a worker had a block.", "facts");
      const bins = Math.max(...lanes.map((lane) => lane.busy.length), 1);
      plot(place, [{
        type: "heatmap", y: lanes.map((lane) => nameOf(lane.worker)), x: Array.from({ length: bins }, (_, bin) => (bin + 0.5) * width),
        z: lanes.map((lane) => Array.from({ length: bins }, (_, bin) => lane.busy[bin] || 0)), zmin: 0, zmax: 1, colorscale: "Blues", colorbar: { title: { text: "busy" } },
      }], axes, height);
    }
  }

  function map() {
    const place = section("Blocks", "map");
    const drawn = report.tasks.filter((task) => task.blocks.states !== null && task.counts.total > 0);
    if (!drawn.length) { element("p", place, "There are no blocks, or too many to draw each.", "facts"); return; }
    const controls = element("div", place, undefined, "controls");
    const choice = (label, options) => {
      const made = element("select", element("label", controls, label + " "));
      options.forEach(([value, text]) => { element("option", made, text).value = value; });
      return made;
    };
    const task = choice("task", drawn.map((one, i) => [i, one.task_id]));
    const color = choice("colour", [["state", "state"], ["seconds", "seconds"]]);
    const vertical = choice("vertical axis", []);
    const horizontal = choice("horizontal axis", []);
    const sliders = element("span", controls);
    const canvas = element("div", place);
    let cells, shape, fixed;

    function pickTask() {
      const { blocks } = drawn[task.value];
      shape = blocks.grid_shape;
      cells = { states: unpack(blocks.states, Uint8Array), seconds: unpack(blocks.seconds, Float32Array) };
      [vertical, horizontal].forEach((list) => {
        list.replaceChildren();
        shape.forEach((size, axis) => { element("option", list, axis + " (" + size + ")").value = axis; });
      });
      vertical.value = Math.max(0, shape.length - 2);
      horizontal.value = shape.length - 1;
      vertical.parentElement.hidden = horizontal.parentElement.hidden = shape.length === 1;
      pickAxes();
    }
    function pickAxes() {
      fixed = {};
      sliders.replaceChildren();
      shape.forEach((size, axis) => {
        if (axis === Number(vertical.value) || axis === Number(horizontal.value)) return;
        const label = element("label", sliders, " axis " + axis + " at 0 ");
        const slider = element("input", label);
        Object.assign(slider, { type: "range", min: 0, max: size - 1, value: 0 });
        fixed[axis] = 0;
        slider.addEventListener("input", () => {
          fixed[axis] = Number(slider.value);
          label.firstChild.textContent = " axis " + axis + " at " + slider.value + " ";
          draw();
        });
      });
      draw();
    }
    function draw() {
      const [v, h] = [Number(vertical.value), Number(horizontal.value)];
      const stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
      const base = Object.entries(fixed).reduce((sum, [axis, at]) => sum + at * stride[axis], 0);
      const byState = color.value === "state";
      const height = v === h ? 1 : shape[v];
      const z = [], text = [];
      for (let row = 0; row < height; row += 1) {
        const zs = [], texts = [];
        for (let column = 0; column < shape[h]; column += 1) {
          const index = base + (v === h ? 0 : row * stride[v]) + column * stride[h];
          const time = cells.seconds[index];
          zs.push(byState ? cells.states[index] : Number.isNaN(time) ? null : time);
          texts.push(report.state_names[cells.states[index]] + (Number.isNaN(time) ? "" : ", " + seconds(time)));
        }
        z.push(zs);
        text.push(texts);
      }
      const steps = stateColors.flatMap((name, i) => [[i / 7, name], [(i + 1) / 7, name]]);
      const looks = byState
        ? { zmin: -0.5, zmax: 6.5, colorscale: steps, colorbar: { tickvals: [0, 1, 2, 3, 4, 5, 6], ticktext: report.state_names } }
        : { colorscale: "Viridis", colorbar: { title: { text: "seconds" } } };
      Plotly.react(canvas, [{ type: "heatmap", z, text, hovertemplate: "%{y}, %{x}: %{text}<extra></extra>", xgap: shape[h] > 80 ? 0 : 1, ygap: height > 80 ? 0 : 1, ...looks }], {
        font, height: Math.max(220, Math.min(640, 90 + 24 * height)), margin: { l: 60, r: 20, t: 10, b: 45 },
        xaxis: { title: { text: "axis " + h }, constrain: "domain" }, yaxis: { title: { text: v === h ? "" : "axis " + v }, autorange: "reversed", showticklabels: v !== h },
      }, config);
      canvas.dataset.cells = String(height * shape[h]);
      canvas.dataset.slices = String(Object.keys(fixed).reduce((product, axis) => product * shape[axis], 1));
    }
    canvas.id = "map-cells";
    task.addEventListener("change", pickTask);
    vertical.addEventListener("change", pickAxes);
    horizontal.addEventListener("change", pickAxes);
    color.addEventListener("change", draw);
    pickTask();
  }

  function errors() {
    if (!report.errors.length) return;
    const place = section("Errors", "errors");
    report.errors.forEach((group) => {
      const details = element("details", place);
      const line = element("summary", details);
      element("span", line, group.count + " ×", "count");
      element("span", line, group.task_id + ": " + group.summary);
      element("div", details, "for example blocks " + group.block_ids.map((id) => id[1]).join(", "), "facts");
      element("pre", details, group.traceback);
    });
  }

  function settings() {
    const place = section("Settings", "settings");
    const show = (value) => (value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value));
    const names = Object.keys(report.tasks[0]?.settings || {});
    table(place, ["", ...report.tasks.map((task) => task.task_id)], names.map((name) => [name, ...report.tasks.map((task) => show(task.settings[name]))]), "settings");
    table(place, ["run", ""], Object.entries(report.settings).map(([name, value]) => [name, show(value)]), "settings");
  }

  [head, tasks, throughput, histogram, workers, map, errors, settings].forEach((part) => part());
  document.body.dataset.ready = "yes";
})();

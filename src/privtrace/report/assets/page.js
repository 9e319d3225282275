"use strict";
// Pan, zoom and look up on the maps of a page. Maps of one group move together and show the same place.
(() => {
  document.documentElement.classList.add("js");
  const CLOSEST = 40;
  const ARROW_PX = 10;

  /** Find the cell of an adaptive grid at a place; x and y count in coarse cells from the southwest. */
  function cellAt(grid, x, y) {
    const size = grid.size;
    const column = Math.floor(x), row = Math.floor(y);
    if (column < 0 || row < 0 || column >= size || row >= size) return null;
    const coarse = row * size + column;
    const division = grid.divisions ? grid.divisions[coarse] : 1;
    const within = (at, from) => Math.min(Math.floor((at - from) * division), division - 1);
    const subColumn = within(x, column), subRow = within(y, row);
    const slot = grid.first[coarse] + subRow * division + subColumn;
    const cell = grid.cells ? grid.cells[slot] : slot;
    if (cell < 0) return null;
    return { cell, x: column + subColumn / division, y: row + subRow / division, side: 1 / division };
  }

  /** Number the first slot of each coarse cell. */
  function prepare(grid) {
    grid.first = [];
    let slots = 0;
    for (let coarse = 0; coarse < grid.size * grid.size; coarse++) {
      grid.first.push(slots);
      const division = grid.divisions ? grid.divisions[coarse] : 1;
      slots += division * division;
    }
  }

  /** Draw the cells of a grid in the shades that a text has a letter for each of; a dot is none. */
  function drawn(grid, shades, palette, full) {
    const paths = {}, { size } = grid;
    for (let coarse = 0; coarse < size * size; coarse++) {
      const division = grid.divisions ? grid.divisions[coarse] : 1;
      const wide = full.width / size / division, high = full.height / size / division;
      for (let sub = 0; sub < division * division; sub++) {
        const slot = grid.first[coarse] + sub;
        const cell = grid.cells ? grid.cells[slot] : slot;
        if (cell < 0 || shades[cell] === ".") continue;
        const column = (coarse % size) * division + (sub % division);
        const row = Math.floor(coarse / size) * division + Math.floor(sub / division);
        const at = `M${(column * wide).toFixed(1)} ${(full.height - (row + 1) * high).toFixed(1)}`;
        const shade = shades.charCodeAt(cell) - 97;
        paths[shade] = `${paths[shade] ?? ""}${at}h${wide.toFixed(1)}v${high.toFixed(1)}h-${wide.toFixed(1)}z`;
      }
    }
    return Object.entries(paths).map(([shade, d]) => `<path class="${palette}${shade}" d="${d}"/>`).join("");
  }

  /** Write a number with all the digits that it came with. */
  function written(number) {
    return number.toLocaleString("en", { maximumSignificantDigits: 15 }).replace("-", "−");
  }

  class Maps {
    constructor(panel) {
      this.data = JSON.parse(panel.querySelector("script[type='application/json']").textContent);
      this.data.grids.forEach(prepare);
      this.svgs = [...panel.querySelectorAll("svg.map")];
      this.rulers = [...panel.querySelectorAll(".ruler")];
      this.readout = panel.querySelector(".readout");
      this.hint = this.readout.textContent;
      this.full = this.svgs[0].viewBox.baseVal;
      this.full = { x: this.full.x, y: this.full.y, width: this.full.width, height: this.full.height };
      this.chosen = { layer: this.data.grids.length - 1, part: "day", colors: "trips" };
      this.grounds = [...panel.querySelectorAll(".cells")];
      this.ofDay = this.grounds.map((ground) => ground.innerHTML);
      this.reset();
      this.svgs.forEach((svg) => this.listen(svg));
      panel.querySelectorAll(".zoom button").forEach((button) => {
        button.addEventListener("click", () => this.press(button.value));
      });
      // All at each change: of a group, only the button that is chosen tells that it changed.
      const inputs = [...panel.querySelectorAll("[data-shows]")];
      const choose = () => {
        inputs.forEach((input) => this.choose(panel, input));
        this.paint(panel);
      };
      inputs.forEach((input) => input.addEventListener("change", choose));
      choose();
      addEventListener("resize", () => this.draw());
    }

    reset() {
      this.view = { ...this.full };
      this.draw();
    }

    press(what) {
      if (what === "reset") this.reset();
      else this.zoom(what === "in" ? 1.6 : 1 / 1.6);
    }

    /** Show or hide what a control stands for. */
    choose(panel, input) {
      if (input.dataset.shows) {
        panel.querySelectorAll(input.dataset.shows).forEach((shown) => {
          shown.toggleAttribute("hidden", !input.checked);
        });
      }
      if (input.type === "radio" && input.checked) this.chosen[input.name] = input.value;
      this.point(null);
    }

    /** Color the cells by what was chosen, and show the scale and the trips that belong to it. */
    paint(panel) {
      const { layer, part, colors } = this.chosen;
      const ofDay = part === "day";
      const scale = colors === "trips" && ofDay ? "day" : colors;
      panel.querySelectorAll("[data-legend]").forEach((legend) => {
        legend.toggleAttribute("hidden", ![scale, `${scale} ${layer}`].includes(legend.dataset.legend));
      });
      panel.querySelectorAll("[data-departs]").forEach((trips) => {
        trips.toggleAttribute("hidden", !ofDay && trips.dataset.departs !== part);
      });
      const ground = this.grounds[layer], grid = this.data.grids[layer];
      if (!ground || ground.dataset.shown === `${scale} ${part}`) return;
      // Speeds of the whole day come before those of its parts.
      const number = colors === "speed" ? (ofDay ? 0 : Number(part) + 1) : Number(part);
      ground.innerHTML = scale === "day"
        ? this.ofDay[layer]
        : drawn(grid, grid.shades[colors][number], colors === "speed" ? "d" : "q", this.full);
      ground.dataset.shown = `${scale} ${part}`;
    }

    get scale() {
      return this.full.width / this.view.width;
    }

    /** Zoom around a place, which stays where it is on the screen. */
    zoom(factor, at = null) {
      const view = this.view;
      const scale = Math.min(Math.max(this.scale * factor, 1), CLOSEST);
      const width = this.full.width / scale, height = this.full.height / scale;
      const place = at ?? { x: view.x + view.width / 2, y: view.y + view.height / 2 };
      const across = (place.x - view.x) / view.width, down = (place.y - view.y) / view.height;
      this.view = { x: place.x - across * width, y: place.y - down * height, width, height };
      this.draw();
    }

    move(x, y) {
      this.view = { ...this.view, x: this.view.x + x, y: this.view.y + y };
      this.draw();
    }

    /** Keep the middle of the view on the map, and show it. */
    draw() {
      const { view, full } = this;
      const within = (at, extent, most) => Math.min(Math.max(at + extent / 2, 0), most) - extent / 2;
      view.x = within(view.x, view.width, full.width);
      view.y = within(view.y, view.height, full.height);
      const zoomed = this.scale > 1.001;
      if (!zoomed) Object.assign(view, this.keyboard ? {} : { x: full.x, y: full.y });
      for (const svg of this.svgs) {
        svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
        svg.classList.toggle("zoomed", zoomed);
      }
      this.svgs.forEach((svg, i) => this.measure(svg, this.rulers[i]));
    }

    /** Make the ruler as long as a round distance, and arrows as large as ever. */
    measure(svg, ruler) {
      if (!svg.clientWidth) return;
      const units = this.view.width / svg.clientWidth;
      for (const arrow of svg.querySelectorAll("marker")) {
        arrow.setAttribute("markerWidth", ARROW_PX * units);
        arrow.setAttribute("markerHeight", ARROW_PX * units);
      }
      const perPixel = this.data.metersPerUnit * units;
      const longest = perPixel * Math.min(120, svg.clientWidth / 3);
      const power = 10 ** Math.floor(Math.log10(longest));
      const round = [5, 2, 1].map((digit) => digit * power).find((length) => length <= longest);
      if (!round) return;
      // A share of the map, so that it stays true on paper.
      ruler.style.width = `${(100 * round) / (this.data.metersPerUnit * this.view.width)}%`;
      const kilometers = this.data.unit === "m" && round >= 1000;
      ruler.textContent = kilometers ? `${round / 1000} km` : `${round.toLocaleString("en")} ${this.data.unit}`;
    }

    place(svg, event) {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return { x: point.x, y: point.y };
    }

    listen(svg) {
      const pointers = new Map();
      svg.addEventListener("wheel", (event) => {
        // A wheel over a map that nobody chose scrolls the page.
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== svg) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 400), this.place(svg, event));
        this.point(this.place(svg, event));
      }, { passive: false });
      svg.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        pointers.set(event.pointerId, event);
        this.keyboard = false;
        // Fingers are captured by themselves.
        if (event.pointerType === "mouse") svg.setPointerCapture(event.pointerId);
        else this.point(this.place(svg, event), event.target);
      });
      svg.addEventListener("pointermove", (event) => {
        const before = pointers.get(event.pointerId);
        if (before) this.drag(svg, pointers, before, event);
        this.keyboard = false;
        this.point(this.place(svg, event), event.target);
      });
      for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
        svg.addEventListener(end, (event) => {
          pointers.delete(event.pointerId);
          svg.classList.remove("dragged");
        });
      }
      svg.addEventListener("pointerleave", (event) => {
        if (event.pointerType === "mouse") this.point(null);
      });
      svg.addEventListener("dblclick", (event) => this.zoom(2, this.place(svg, event)));
      svg.addEventListener("keydown", (event) => this.key(event));
      svg.addEventListener("blur", () => {
        if (this.keyboard) this.point(null);
        this.keyboard = false;
        this.draw();
      });
    }

    /** Follow one pointer, or zoom by the distance between two. */
    drag(svg, pointers, before, event) {
      const units = this.view.width / svg.clientWidth;
      if (pointers.size === 1) {
        svg.classList.add("dragged");
        if (this.scale > 1.001) {
          this.move((before.clientX - event.clientX) * units, (before.clientY - event.clientY) * units);
        }
      } else if (pointers.size === 2) {
        const [other] = [...pointers.values()].filter((pointer) => pointer.pointerId !== event.pointerId);
        const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
        const middle = { clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 };
        this.zoom(apart(event) / Math.max(apart(before), 1), this.place(svg, middle));
      }
      pointers.set(event.pointerId, event);
    }

    /** Move the map under a cursor that stays in the middle. */
    key(event) {
      const step = 0.08;
      const moves = {
        ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step],
      };
      const zooms = { "+": 1.6, "=": 1.6, "-": 1 / 1.6 };
      this.keyboard = true;
      if (event.key in moves) {
        const [x, y] = moves[event.key];
        this.move(x * this.view.width, y * this.view.height);
      } else if (event.key in zooms) this.zoom(zooms[event.key]);
      else if (event.key === "0" || event.key === "Home") {
        this.keyboard = false;
        this.reset();
      } else return;
      event.preventDefault();
      this.point({ x: this.view.x + this.view.width / 2, y: this.view.y + this.view.height / 2 });
    }

    /** Mark the cell at a place on all maps, and tell its numbers. */
    point(place, target = null) {
      const grid = this.data.grids[this.chosen.layer];
      const units = { x: this.full.width / grid.size, y: this.full.height / grid.size };
      const found = place && cellAt(grid, place.x / units.x, (this.full.height - place.y) / units.y);
      for (const svg of this.svgs) {
        const cursor = svg.querySelector(".cursor");
        cursor.toggleAttribute("hidden", !found);
        if (!found) continue;
        cursor.setAttribute("x", found.x * units.x);
        cursor.setAttribute("y", this.full.height - (found.y + found.side) * units.y);
        cursor.setAttribute("width", found.side * units.x);
        cursor.setAttribute("height", found.side * units.y);
      }
      const title = target?.querySelector?.(":scope > title");
      if (title) this.readout.textContent = title.textContent;
      else this.readout.textContent = found ? this.tell(grid, found) : this.hint;
    }

    tell(grid, { cell, x, y, side }) {
      const told = this.chosen.part === "day" ? grid.numbers : grid.parts[this.chosen.part];
      const numbers = told.map(({ name, values, low, high, error, unit }) => {
        const noise = error === null ? "" : ` ± ${written(error)}`;
        const bounds = low ? ` (${written(low[cell])} to ${written(high[cell])})` : "";
        // Lines break between numbers, not within.
        const known = values[cell] === null ? "unknown" : `${written(values[cell])}${bounds}${noise}${unit}`;
        return `${name} ${known}`.replaceAll(" ", "\u00a0");
      });
      numbers.push(`at\u00a0${this.coordinates((x + side / 2) / grid.size, (y + side / 2) / grid.size)}`);
      return (grid.name ? `${grid.name} ${cell}: ` : "") + numbers.join("\u00a0· ");
    }

    /** Write the place at these shares of the map's width and height, in the data's coordinates. */
    coordinates(across, up) {
      const [west, south, east, north] = this.data.bounds;
      const x = west + across * (east - west), y = south + up * (north - south);
      const degrees = this.data.unit === "m";
      const turned = degrees && x > 180 ? x - 360 : x;
      const digits = degrees ? 4 : Math.max(0, 4 - Math.ceil(Math.log10(east - west)));
      return [turned, y].map((number) => number.toFixed(digits).replace("-", "\u2212")).join(",\u00a0");
    }
  }

  document.querySelectorAll("[data-maps]").forEach((panel) => new Maps(panel));
})();

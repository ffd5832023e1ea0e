import uPlot from "uplot";

interface DrawOptions {
  times: readonly number[];
  height: number;
  kind: "line" | "bars";
  series: readonly {
    label: string;
    values: readonly (number | null)[];
    color: string;
    format?: (value: number) => string;
  }[];
  axisColor: string;
  gridColor: string;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DAY_SECONDS = 86_400;

/** `step`: seconds between two labels. Midnight is labelled with its day. */
function timeText(seconds: number, step: number): string {
  const date = new Date(seconds * 1000);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  return step >= DAY_SECONDS || isMidnight ? day.format(date) : clock.format(date);
}

/** Draws on a canvas and follows the width of the element. Returns a function that removes the chart. */
export function drawChart(
  element: HTMLElement,
  { times, height, kind, series, axisColor, gridColor }: DrawOptions,
): () => void {
  const format = series[0]?.format ?? ((value: number) => value.toLocaleString("en"));
  const axis: uPlot.Axis = {
    stroke: axisColor,
    grid: { stroke: gridColor, width: 1 },
    ticks: { stroke: gridColor, width: 1 },
    font: "11px system-ui, sans-serif",
  };
  const chart = new uPlot(
    {
      width: Math.max(element.clientWidth, 50),
      height,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      scales: { y: { range: (_, min, max) => [Math.min(0, min), max <= 0 ? 1 : max * 1.1] } },
      axes: [
        {
          ...axis,
          grid: { show: false },
          values: (_, times, __, ___, step) => times.map((time) => timeText(time, step)),
        },
        { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => format(tick)) },
      ],
      series: [
        {},
        ...series.map(({ label, color }): uPlot.Series => ({
          label,
          stroke: color,
          width: 1.5,
          points: { show: false },
          ...(kind === "bars" && { fill: color, paths: uPlot.paths.bars!({ size: [0.7, 24] }) }),
        })),
      ],
    },
    [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
    element,
  );
  const observer = new ResizeObserver(() => chart.setSize({ width: Math.max(element.clientWidth, 50), height }));
  observer.observe(element);
  return () => {
    observer.disconnect();
    chart.destroy();
  };
}

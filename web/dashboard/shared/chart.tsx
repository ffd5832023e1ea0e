import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import { LoadingState } from "./loading-state.tsx";

export interface Series {
  label: string;
  /** One value per time; null is a gap. */
  values: readonly (number | null)[];
  /** A CSS variable. Default: by position. */
  color?: string;
  /** Formats a value for the axis and the legend. */
  format?: (value: number) => string;
}

const COLORS = ["--mantine-primary-color-filled", "--rp-good", "--rp-warning", "--rp-bad", "--rp-neutral"];

/**
 * Lines over time. `times`: seconds since 1970, ascending. The text alternative is the label with the last values, so
 * values that matter must also be in the text of the page.
 */
export function Chart({
  label,
  times,
  series,
  height = 180,
  kind = "line",
}: {
  label: string;
  times: readonly number[] | undefined;
  series: readonly Series[];
  height?: number;
  kind?: "line" | "bars";
}) {
  const element = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme();

  useEffect(() => {
    const target = element.current;
    if (target === null || times === undefined) return;
    let isDisposed = false;
    let destroy = () => {};
    void import("./draw-chart.ts").then(({ drawChart }) => {
      if (isDisposed) return;
      destroy = drawChart(target, {
        times,
        height,
        kind,
        series: series.map((line, index) => ({
          ...line,
          color: cssColor(line.color ?? COLORS[index % COLORS.length]!),
        })),
        axisColor: cssColor("--mantine-color-dimmed"),
        gridColor: cssColor("--rp-border"),
      });
    });
    return () => {
      isDisposed = true;
      destroy();
    };
  }, [times, series, height, kind, scheme]);

  if (times === undefined) return <LoadingState rows={3} label={`Loading ${label}`} />;
  const last = series
    .map(({ label: name, values, format = String }) => {
      const value = values.findLast((point) => point !== null);
      return `${name} ${value === undefined || value === null ? "no data" : format(value)}`;
    })
    .join(", ");
  return (
    <figure className="rp-chart" aria-label={`${label}: ${last}`}>
      <div className="rp-legend" aria-hidden="true">
        {series.map(({ label: name, color }, index) => (
          <span key={name}>
            <i style={{ background: `var(${color ?? COLORS[index % COLORS.length]})` }} />
            {name}
          </span>
        ))}
      </div>
      <div ref={element} style={{ height }} aria-hidden="true" />
    </figure>
  );
}

const cssColor = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "gray";

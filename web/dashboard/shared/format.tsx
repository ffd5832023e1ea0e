import { Tooltip } from "@mantine/core";
import { useEffect, useState } from "react";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const absolute = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const integer = new Intl.NumberFormat("en");

const UNITS: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** `3 minutes ago`, `in 2 days`. */
export function relativeTime(date: Date, now = Date.now()): string {
  const seconds = (date.getTime() - now) / 1000;
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  return Math.abs(seconds) < 10 ? "now" : relative.format(Math.trunc(seconds), "second");
}

/** A time relative to now, with the exact time on hover and focus. `value`: ISO 8601, ms since 1970, or nothing. */
export function RelativeTime({ value }: { value: string | number | null | undefined }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (value === null || value === undefined) return <span className="rp-dimmed">–</span>;
  const date = new Date(value);
  return (
    <Tooltip label={absolute.format(date)} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={date.toISOString()} className="rp-nowrap">
        {relativeTime(date, Math.max(now, Date.now()))}
      </time>
    </Tooltip>
  );
}

export const formatTime = (value: string | number): string => absolute.format(new Date(value));
export const formatNumber = (value: number): string => integer.format(value);

const BYTE_UNITS = ["bytes", "KB", "MB", "GB", "TB", "PB"];

/** Decimal units: 1 KB = 1000 bytes. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0
    ? `${value} ${value === 1 ? "byte" : "bytes"}`
    : `${value < 10 ? value.toFixed(1) : Math.round(value)} ${BYTE_UNITS[unit]}`;
}

export function Bytes({ value }: { value: number | null | undefined }) {
  return value === null || value === undefined ? (
    <span className="rp-dimmed">–</span>
  ) : (
    <span className="rp-nowrap" title={`${formatNumber(value)} bytes`}>
      {formatBytes(value)}
    </span>
  );
}

/** `1:02:03`, `4:05`, `0.4 s`, `12 ms`. */
export function formatDuration(seconds: number): string {
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const pad = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(whole % 60)}` : `${minutes}:${pad(whole % 60)}`;
}

export function Duration({ seconds }: { seconds: number | null | undefined }) {
  return seconds === null || seconds === undefined || seconds < 0 ? (
    <span className="rp-dimmed">–</span>
  ) : (
    <span className="rp-nowrap">{formatDuration(seconds)}</span>
  );
}

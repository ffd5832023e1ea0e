import { useMemo } from "react";
import { encode } from "uqr";

/** A QR code. Black on white in both themes: some cameras do not read inverted codes. */
export function QrCode({ text, label, size = 176 }: { text: string; label: string; size?: number }) {
  const { path, modules } = useMemo(() => {
    const { data, size: count } = encode(text, { border: 2 });
    return {
      modules: count,
      path: data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join(""),
    };
  }, [text]);
  return (
    <svg
      role="img"
      aria-label={label}
      className="rp-settings-qr"
      width={size}
      height={size}
      viewBox={`0 0 ${modules} ${modules}`}
      shapeRendering="crispEdges"
    >
      <path d={path} fill="#000" />
    </svg>
  );
}

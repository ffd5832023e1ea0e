import { useEffect, useRef, useState } from "react";

/**
 * Displays untrusted HTML, such as the body of a message: in a frame with an opaque origin, without scripts and forms.
 * `remote` loads images and styles from other hosts, which lets the sender see that the message was opened.
 */
export function HtmlFrame({
  html,
  title,
  remote = false,
  width = "100%",
  maxHeight = 4000,
}: {
  html: string;
  title: string;
  remote?: boolean;
  width?: number | string;
  maxHeight?: number;
}) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(200);

  useEffect(() => {
    function receive({ source, data }: MessageEvent<{ ready?: boolean; height?: number }>) {
      if (frame.current === null || source !== frame.current.contentWindow || typeof data !== "object") return;
      // The origin of the frame is opaque, and messages to it have no other possible target.
      if (data.ready === true) frame.current.contentWindow?.postMessage({ html }, "*");
      if (typeof data.height === "number") setHeight(Math.min(maxHeight, Math.max(40, Math.ceil(data.height))));
    }
    addEventListener("message", receive);
    return () => removeEventListener("message", receive);
  }, [html, maxHeight]);

  return (
    <iframe
      ref={frame}
      // A changed message or permission needs a new document.
      key={`${remote}:${html.length}:${html.slice(0, 200)}`}
      title={title}
      src={remote ? "/message-frame?remote" : "/message-frame"}
      sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"
      referrerPolicy="no-referrer"
      className="rp-html-frame"
      style={{ width, height }}
    />
  );
}

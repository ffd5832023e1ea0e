import { useState, type ReactNode } from "react";

/** Accepts files that are dropped anywhere on its content. */
export function DropZone({ onFiles, children }: { onFiles: (files: readonly File[]) => void; children: ReactNode }) {
  const [isTarget, setTarget] = useState(false);
  return (
    <div
      className="rp-stream-drop"
      data-target={isTarget}
      onDragOver={(event) => {
        event.preventDefault();
        setTarget(true);
      }}
      onDragLeave={() => setTarget(false)}
      onDrop={(event) => {
        event.preventDefault();
        setTarget(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      {children}
    </div>
  );
}

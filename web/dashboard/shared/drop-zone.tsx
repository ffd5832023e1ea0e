import { useState, type DragEvent, type ReactNode } from "react";

/** Accepts files that are dropped anywhere on its content, and highlights it while they are dragged over it. */
export function DropZone({
  onFiles,
  disabled = false,
  children,
}: {
  onFiles: (files: readonly File[]) => void;
  disabled?: boolean;
  children: ReactNode;
}) {
  const [isTarget, setTarget] = useState(false);
  const onDragOver = (event: DragEvent) => {
    if (disabled || !event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setTarget(true);
  };
  return (
    <div
      className="rp-drop"
      data-target={isTarget}
      onDragOver={onDragOver}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        // The pointer may have moved to an element of the content.
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setTarget(false);
      }}
      onDrop={(event) => {
        if (disabled) return;
        event.preventDefault();
        setTarget(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      {children}
    </div>
  );
}

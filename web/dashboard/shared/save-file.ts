/** Triggers a browser download of `data`. */
export function saveFile(data: Blob | string, name: string): void {
  const url = URL.createObjectURL(typeof data === "string" ? new Blob([data], { type: "text/plain" }) : data);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The download has begun when the click returns.
  URL.revokeObjectURL(url);
}

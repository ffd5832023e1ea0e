/**
 * Keys pressed while no control has focus are meant for the player, because it fills the frame. The controls handle
 * most keys (m, f, c, p, j, l, arrows, < and >, and ? for the list of them); digits, Home and End are added here. Space
 * and k are handled here as well: the controls rely on the last event, so two presses in quick succession would both
 * mean "play".
 */
export function listenToKeys(controller: HTMLElement, video: HTMLVideoElement, isOff: () => boolean): void {
  for (const type of ["keydown", "keyup"] as const) {
    document.addEventListener(type, (event) => {
      if (isOff() || event.ctrlKey || event.metaKey || event.altKey) return;
      const isFocusIdle = event.target === document.body || event.target === document.documentElement;
      if (type === "keydown" && (isFocusIdle || event.target === controller) && jump(event.key))
        return event.preventDefault();
      if (!isFocusIdle) return;
      if (event.key === " " || event.key === "k") {
        if (type === "keydown" && !event.repeat) toggle();
        return event.preventDefault();
      }
      const forwarded = new KeyboardEvent(type, {
        key: event.key,
        code: event.code,
        shiftKey: event.shiftKey,
        repeat: event.repeat,
        bubbles: false,
        cancelable: true,
      });
      if (!controller.dispatchEvent(forwarded)) event.preventDefault();
    });
  }

  function toggle(): void {
    if (video.paused) video.play().catch(() => {});
    else video.pause();
  }

  function jump(key: string): boolean {
    const seekFraction = key === "Home" ? 0 : key === "End" ? 1 : /^\d$/.test(key) ? Number(key) / 10 : undefined;
    const span = seekFraction === undefined ? undefined : spanOf();
    if (seekFraction === undefined || span === undefined) return false;
    video.currentTime = span.start + (span.end - span.start) * seekFraction;
    return true;
  }

  /** Returns the part that can be seeked to, in seconds; for a broadcast, the DVR window, or undefined without DVR. */
  function spanOf(): { start: number; end: number } | undefined {
    if (Number.isFinite(video.duration)) return { start: 0, end: video.duration };
    if (!controller.hasAttribute("dvr") || video.seekable.length === 0) return undefined;
    return { start: video.seekable.start(0), end: video.seekable.end(0) };
  }
}

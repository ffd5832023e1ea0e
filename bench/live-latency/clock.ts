/**
 * The time of day as a frame: 8 by 5 black or white fields that encode 40 bits of milliseconds, most significant bit
 * first. It survives every encoder and shows when the frame was created.
 */
const COLUMNS = 8;
const ROWS = 5;
const BITS = COLUMNS * ROWS;

/** One gray frame of width * height bytes. */
export function paintClock(time: number, width: number, height: number): Buffer {
  const picture = Buffer.alloc(width * height);
  const [w, h] = [width / COLUMNS, height / ROWS];
  for (let bit = 0; bit < BITS; bit++) {
    if (Math.floor(time / 2 ** (BITS - 1 - bit)) % 2 === 0) continue;
    const [x, y] = [(bit % COLUMNS) * w, Math.floor(bit / COLUMNS) * h];
    for (let row = 0; row < h; row++) picture.fill(235, (y + row) * width + x, (y + row) * width + x + w);
  }
  return picture;
}

/**
 * For pages: `paint(context, width, height)` draws the clock; `watch(video, ms)` resolves with the age of each
 * displayed frame in milliseconds.
 */
export const CLOCK_SCRIPT = `
  const BITS = ${BITS}, COLUMNS = ${COLUMNS}, ROWS = ${ROWS};
  function paint(context, width, height) {
    const time = Date.now(), w = width / COLUMNS, h = height / ROWS;
    for (let bit = 0; bit < BITS; bit++) {
      context.fillStyle = Math.floor(time / 2 ** (BITS - 1 - bit)) % 2 === 0 ? "#000" : "#fff";
      context.fillRect((bit % COLUMNS) * w, Math.floor(bit / COLUMNS) * h, w, h);
    }
  }
  function read(context, width, height) {
    const { data } = context.getImageData(0, 0, width, height);
    let time = 0;
    for (let bit = 0; bit < BITS; bit++) {
      const x = Math.floor(((bit % COLUMNS) + 0.5) * width / COLUMNS), y = Math.floor((Math.floor(bit / COLUMNS) + 0.5) * height / ROWS);
      time = time * 2 + (data[(y * width + x) * 4] > 127 ? 1 : 0);
    }
    return time;
  }
  function watch(video, ms) {
    const canvas = new OffscreenCanvas(320, 180);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const ages = [];
    return new Promise((resolve) => {
      const until = performance.now() + ms;
      const onFrame = () => {
        context.drawImage(video, 0, 0, 320, 180);
        const age = (Date.now() % 2 ** BITS) - read(context, 320, 180);
        // A seek or a resize may show a mixture of two frames, which has no valid time.
        if (age >= 0 && age < 60_000) ages.push(age);
        if (performance.now() < until) video.requestVideoFrameCallback(onFrame);
        else resolve(ages);
      };
      video.requestVideoFrameCallback(onFrame);
    });
  }
`;

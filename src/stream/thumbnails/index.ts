export { type ImageRequest, readImageRequest, readTime } from "./image-request.ts";
export { createImageQueue } from "./image-store.ts";
export { createStills } from "./stills.ts";
export { createThumbnails } from "./thumbnails.ts";

import type { NavEntry } from "../area.ts";

export const streamNav: readonly NavEntry[] = [
  {
    label: "Stream",
    path: "/stream",
    icon: "video",
    keywords: ["videos", "uploads", "captions", "thumbnails", "clips", "customer code"],
    shortcut: "v",
    pages: [
      { label: "Videos", path: "/stream" },
      { label: "Watermarks", path: "/stream/watermarks" },
      { label: "Signing keys", path: "/stream/keys" },
      { label: "Webhooks", path: "/stream/webhooks" },
      { label: "Delivery", path: "/stream/delivery" },
      { label: "Usage", path: "/stream/usage" },
    ],
  },
];

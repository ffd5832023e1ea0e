import type { ProcessRole } from "./roles.ts";
import type { ServeUrls } from "./serve-urls.ts";

interface EndpointDeps {
  roles: ReadonlySet<ProcessRole>;
  urls: Pick<ServeUrls, "base" | "api" | "worker">;
  /** Empty if videos have no separate host. */
  videoDomain: string;
}

/** Returns the endpoints of a process with these roles: URLs and URL patterns. */
export const endpointsOf = ({ roles, urls, videoDomain }: EndpointDeps): { name: string; url: string }[] => [
  ...(roles.has("api")
    ? [
        { name: "API", url: urls.api() },
        { name: "API docs", url: `${urls.api()}/docs` },
      ]
    : []),
  ...(roles.has("workers") ? [{ name: "Workers", url: urls.worker("<account>", "<worker>") }] : []),
  ...(roles.has("playback") && videoDomain === "" ? [{ name: "Videos", url: `${urls.base()}/<video>/watch` }] : []),
  { name: "Health", url: `${urls.base()}/healthz` },
];

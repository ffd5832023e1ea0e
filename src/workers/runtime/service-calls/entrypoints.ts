/** The target of a service binding: an export of a worker, with the value of its `ctx.props`. */
export interface Entrypoint {
  /** The name of the export; undefined for the default export. */
  name?: string;
  props?: Record<string, unknown>;
}

export const DEFAULT_ENTRYPOINT: Entrypoint = {};

/** Returns the same key for the same entrypoint and props. */
export const entrypointKey = ({ name = "", props }: Entrypoint): string => `${name}\n${JSON.stringify(props) ?? ""}`;

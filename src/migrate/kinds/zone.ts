import type { Context } from "../context.ts";

/** The fields of a zone that are read, in the API's form. */
export interface SourceZone {
  id: string;
  name: string;
  type?: string;
  status?: string;
  paused?: boolean;
  name_servers?: string[] | null;
}

/** Returns the header with which the operator chooses the id of a new resource. */
export const idHeader = ({ keepsIds }: Pick<Context, "keepsIds">, id: string): Record<string, string> =>
  keepsIds ? { "reelpost-id": id } : {};

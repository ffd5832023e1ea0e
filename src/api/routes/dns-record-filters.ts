import { z } from "@hono/zod-openapi";
import { ancestors, DnsSyntaxError, isWithin, normalizeName, RECORD_TYPES } from "../../protocol/dns/index.ts";
import type { RecordQuery, TagFilter } from "../../zones/index.ts";
import { zoneErrors } from "../../zones/index.ts";
import { pageQuery } from "../paging.ts";

const text = z.string().max(4096).optional();
const tag = z.union([z.string().max(200), z.array(z.string().max(200)).max(20)]).optional();
const flag = z.enum(["true", "false"]).optional();

export const recordListQuery = z.object({
  type: z
    .string()
    .transform((type) => type.toUpperCase())
    .pipe(z.enum(RECORD_TYPES as [string, ...string[]]))
    .optional(),
  name: text,
  "name.exact": text,
  "name.contains": text,
  "name.startswith": text,
  "name.endswith": text,
  content: text,
  "content.exact": text,
  "content.contains": text,
  "content.startswith": text,
  "content.endswith": text,
  comment: text,
  "comment.exact": text,
  "comment.contains": text,
  "comment.startswith": text,
  "comment.endswith": text,
  "comment.present": text,
  "comment.absent": text,
  tag,
  "tag.present": tag,
  "tag.absent": tag,
  "tag.exact": tag,
  "tag.contains": tag,
  "tag.startswith": tag,
  "tag.endswith": tag,
  proxied: flag,
  search: text,
  match: z.enum(["any", "all"]).default("all"),
  tag_match: z.enum(["any", "all"]).default("all"),
  order: z.enum(["type", "name", "content", "ttl", "proxied"]).default("type"),
  direction: z.enum(["asc", "desc"]).default("asc"),
  include_shadow_metadata: flag,
  shadowed_by_name: text,
  shadowing_name: text,
  ...pageQuery({ perPage: 100, max: 5000 }),
});

type Query = z.output<typeof recordListQuery>;

/** Converts a query to record filters. Throws badFilter. `zoneName` is called only if a filter needs it. */
export async function recordQuery(query: Query, zoneName: () => Promise<string>): Promise<RecordQuery> {
  const text = <Field extends "name" | "content" | "comment">(field: Field) => ({
    exact: query[`${field}.exact`] ?? query[field],
    contains: query[`${field}.contains`],
    startswith: query[`${field}.startswith`],
    endswith: query[`${field}.endswith`],
  });
  const hasAnyValue = (filter: object) => Object.values(filter).some((value) => value !== undefined && value !== false);
  const comment = {
    ...text("comment"),
    present: query["comment.present"] !== undefined,
    absent: query["comment.absent"] !== undefined,
  };
  const name = text("name");
  if (name.exact !== undefined) name.exact = toLenientName(name.exact);
  return {
    type: query.type,
    ...(hasAnyValue(name) && { name }),
    ...(hasAnyValue(text("content")) && { content: text("content") }),
    ...(hasAnyValue(comment) && { comment }),
    ...(query.proxied !== undefined && { proxied: query.proxied === "true" }),
    tags: tagFilters(query),
    anyTag: query.tag_match === "any",
    any: query.match === "any",
    search: query.search,
    order: query.order,
    direction: query.direction,
    ...(query.shadowed_by_name !== undefined && { shadowedBy: await shadowedBy(query, zoneName) }),
    ...(query.shadowing_name !== undefined && { nsAt: await shadowingNamesOf(query.shadowing_name, zoneName) }),
  };
}

/** Normalizes a name; an invalid name matches nothing. */
function toLenientName(name: string): string {
  try {
    return normalizeName(name);
  } catch (err) {
    if (err instanceof DnsSyntaxError) return name;
    throw err;
  }
}

function tagFilters(query: Query): TagFilter[] {
  const noFilter: TagFilter = {
    present: undefined,
    absent: undefined,
    exact: undefined,
    contains: undefined,
    startswith: undefined,
    endswith: undefined,
  };
  const listOf = (value: string | string[] | undefined) => (value === undefined ? [] : [value].flat());
  const shortTags = listOf(query.tag).map((value): TagFilter =>
    value.includes(":") ? { ...noFilter, exact: pair("tag", value) } : { ...noFilter, present: value },
  );
  const nameFilters = (["present", "absent"] as const).flatMap((kind) =>
    listOf(query[`tag.${kind}`]).map((value) => ({ ...noFilter, [kind]: value })),
  );
  const valueFilters = (["exact", "contains", "startswith", "endswith"] as const).flatMap((kind) =>
    listOf(query[`tag.${kind}`]).map((value) => ({ ...noFilter, [kind]: pair(`tag.${kind}`, value) })),
  );
  return [...shortTags, ...nameFilters, ...valueFilters];
}

function pair(field: string, value: string): { name: string; value: string } {
  const at = value.indexOf(":");
  if (at === -1) throw zoneErrors.badFilter({ field, reason: "it must have the form <tag name>:<tag value>" });
  return { name: value.slice(0, at), value: value.slice(at + 1) };
}

async function shadowedBy(query: Query, zoneName: () => Promise<string>): Promise<string> {
  if (query.include_shadow_metadata !== "true")
    throw zoneErrors.badFilter({ field: "shadowed_by_name", reason: "it requires include_shadow_metadata=true" });
  return requireSubdomain("shadowed_by_name", query.shadowed_by_name!, await zoneName());
}

async function shadowingNamesOf(name: string, zoneName: () => Promise<string>): Promise<string[]> {
  const zone = await zoneName();
  const normal = requireSubdomain("shadowing_name", name, zone);
  return [normal, ...ancestors(normal)].filter((above) => above !== zone && isWithin(above, zone));
}

function requireSubdomain(field: string, name: string, zone: string): string {
  const normal = toLenientName(name);
  if (normal === zone || !isWithin(normal, zone))
    throw zoneErrors.badFilter({ field, reason: `it must be a name in ${zone}` });
  return normal;
}

import { Fragment, type ReactNode } from "react";

/** A description list of the properties of a resource. Entries without a value are omitted. */
export function KeyValue({ items }: { items: readonly (readonly [term: string, value: ReactNode])[] }) {
  return (
    <dl className="rp-key-value">
      {items
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([term, value]) => (
          <Fragment key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}

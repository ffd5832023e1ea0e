import { Fragment, type ReactNode } from "react";

/** Properties of a thing, as a list of terms. Entries without a value are left out. */
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

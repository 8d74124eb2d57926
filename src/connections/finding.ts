/** What a store keeps beside its jobs that they do not bear out: somebody has removed some of them, or their keys, by hand. */
export type Finding =
  /** The job that holds this unique key is gone: no other would ever get in. Repaired: the key is free. */
  | { readonly kind: 'stuck'; readonly key: string; readonly holder: string }
  /** This job is to hold this unique key, and nobody does: others would get in beside it. Repaired: it holds it. */
  | { readonly kind: 'unheld'; readonly key: string; readonly holder: string }
  /** So many jobs of this batch are pending by its count, and so many are there. Repaired: it counts these, and the others as skipped. */
  | { readonly kind: 'miscounted'; readonly batch: string; readonly pending: number; readonly found: number };

export interface RecountOptions {
  /** False: it only looks. */
  readonly repair: boolean;
}

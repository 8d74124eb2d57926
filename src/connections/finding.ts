/** Something in a store that disagrees with its jobs: somebody has removed jobs, or their keys, by hand. */
export type Finding =
  /** The job that holds this unique key is gone: no other could ever get in. Repair: the key is freed. */
  | { readonly kind: 'stuck'; readonly key: string; readonly holder: string }
  /** This job should hold this unique key, but nobody does: others could get in. Repair: it holds the key. */
  | { readonly kind: 'unheld'; readonly key: string; readonly holder: string }
  /** The batch counts `pending` jobs, but `found` exist. Repair: it counts these, and the missing ones as skipped. */
  | { readonly kind: 'miscounted'; readonly batch: string; readonly pending: number; readonly found: number };

export interface RecountOptions {
  /** False: only look. */
  readonly repair: boolean;
}

/** The tables of a store, for `onqueue migrate`. */

export interface Migrations {
  /** The version of the tables that this Onqueue works with. */
  readonly version: number;
  /**
   * Creates the tables or brings them up to date; does nothing if they are. May run twice, even at the same time.
   *
   * @returns the versions, and what was repaired in tables whose version was right, as a clause
   */
  run(): Promise<{ readonly from: number; readonly to: number; readonly mended?: string | undefined }>;
  /**
   * For a starting worker. Says nothing if the store is away or has no tables yet: that may change.
   *
   * @throws what waiting does not fix: a later version made the tables, or they are somebody else's
   */
  check?(): Promise<void>;
  /** The statements, for those who run them themselves. */
  sql(): string;
}

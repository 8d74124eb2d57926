/** The tables of a store, for those who make them: `onqueue migrate`. */

export interface Migrations {
  /** The version of the tables that this Onqueue works with. */
  readonly version: number;
  /**
   * Makes them, or brings them up to date; nothing where they are. May run twice, and at once.
   *
   * @returns the versions, and what was wrong with tables whose version was right, as a clause
   */
  run(): Promise<{ readonly from: number; readonly to: number; readonly mended?: string | undefined }>;
  /**
   * For a worker that starts. A store that is away, or has no tables yet, may come back or get them: nothing is said of it.
   *
   * @throws what no waiting mends: they were made by a later version, or are somebody else's
   */
  check?(): Promise<void>;
  /** The statements, for those who run them themselves. */
  sql(): string;
}

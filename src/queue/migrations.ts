/** The tables of a store, for those who make them: `onqueue migrate`. */

export interface Migrations {
  /** The version of the tables that this Onqueue works with. */
  readonly version: number;
  /** Makes them, or brings them up to date; nothing where they are. May run twice, and at once. */
  run(): Promise<{ readonly from: number; readonly to: number }>;
  /** The statements, for those who run them themselves. */
  sql(): string;
}

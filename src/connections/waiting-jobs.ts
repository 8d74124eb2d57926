/** What a store shows of the jobs that wait in it, and run. */
export interface Counts {
  readonly ready: number;
  readonly delayed: number;
  readonly reserved: number;
}

export type WaitingState = keyof Counts;

export interface PeekedJob {
  readonly payload: Buffer;
  /** Milliseconds since 1970: when a delayed job becomes ready, or a reserved one's lease ends. */
  readonly at?: number | undefined;
  /** What `peek` goes on behind. Only where the driver has `operations`; nobody else reads it. */
  readonly place?: string | undefined;
}

/** A job that was looked for by its id. */
export interface PlacedJob extends Pick<PeekedJob, 'payload' | 'at'> {
  readonly queue: string;
  readonly state: WaitingState;
}

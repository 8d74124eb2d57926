/** What a store shows of its waiting and running jobs. */
export interface Counts {
  readonly ready: number;
  readonly delayed: number;
  readonly reserved: number;
}

export type WaitingState = keyof Counts;

export const WAITING_STATES = ['ready', 'delayed', 'reserved'] as const satisfies readonly WaitingState[];

export interface PeekedJob {
  readonly payload: Buffer;
  /** Milliseconds since 1970: when a delayed job becomes ready, or a reserved job's lease ends. */
  readonly at?: number | undefined;
  /** The place after which `peek` continues. Only if the driver has `operations`; nobody else reads it. */
  readonly place?: string | undefined;
}

/** A job found by its id. */
export interface PlacedJob extends Pick<PeekedJob, 'payload' | 'at'> {
  readonly queue: string;
  readonly state: WaitingState;
}

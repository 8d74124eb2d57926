/* oxlint-disable no-unused-vars -- it precedes every fragment, and no fragment uses all of it */
/** What fragments in the documentation may use without importing it. */
import { EventEmitter } from 'node:events';
import {
  AfterCommitError,
  Bus,
  type Container,
  dispatch,
  Events,
  Handles,
  Inject,
  inject,
  Job,
  JobContext,
  JobFailedError,
  Listens,
  Middleware,
  OnqueueError,
  rateLimited,
  Queue,
  Worker,
} from 'onqueue';
import { type Authorization, dashboard } from 'onqueue/dashboard';
import type express from 'express';
import { container } from 'tsyringe';

class Mailer {
  async send(to: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    console.log(to);
  }
}

/** A container of the reader's own. */
declare const services: {
  get(token: unknown): unknown;
  createRequest(job: JobContext | undefined): { make(token: unknown): Promise<unknown>; end(): Promise<void> };
};

class Alerts {
  async send(error: Error): Promise<void> {
    console.log(error.message);
  }
}

@Job({ queue: 'mail' })
class SendWelcome extends Job {
  constructor(readonly email: string) {
    super();
  }

  async handle(@Inject(Mailer) mailer: Mailer): Promise<void> {
    await mailer.send(this.email, this.signal);
  }
}

@Job()
class ProcessPodcast extends Job {
  constructor(
    readonly podcastId: number,
    readonly publishAt?: Date,
  ) {
    super();
  }

  async handle(): Promise<void> {
    console.log(this.podcastId);
  }
}

const worker = new Worker();

interface Order {
  readonly id: number;
  readonly total: number;
  sentAt?: Date;
}

interface Line {
  readonly id: number;
}

declare class EntityManager {
  flush(): Promise<void>;
}

declare const order: Order;
declare const lines: Line[];
declare const app: express.Express;
declare function roleOf(cookie: string | undefined): Authorization;

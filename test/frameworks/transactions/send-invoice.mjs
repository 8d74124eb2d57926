import { createRequire } from 'node:module';

const { Job } = createRequire(import.meta.url)('onqueue');

/** What the jobs had that were run. */
export const received = [];

export const SendInvoice = Job()(
  class SendInvoice extends Job {
    constructor(order, note) {
      super();
      Object.assign(this, { order, note });
    }

    async handle() {
      received.push([this.order, this.note]);
    }
  },
);

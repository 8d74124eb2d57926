import { Job } from 'onqueue';

@Job({ name: 'MakeInvoice', queue: 'invoices' })
export class MakeInvoice extends Job {
  constructor(readonly order: number) {
    super();
  }

  async handle() {
    if (this.order === 13) throw new Error('no such order', { cause: new RangeError('13') });
    console.log(`the invoice of order ${this.order}`);
  }
}

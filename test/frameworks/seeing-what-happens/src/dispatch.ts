import { Queue } from 'onqueue';
import { MakeInvoice } from './jobs';
import configuration from './onqueue.config';

async function main() {
  Queue.configure(configuration);
  await MakeInvoice.dispatch(7);
  await MakeInvoice.dispatch(13);
  await Queue.close();
}

void main();

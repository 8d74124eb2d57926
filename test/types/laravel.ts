/** What `@LaravelJob` and `model` accept. */
import { Job } from 'onqueue';
import { LaravelJob, type LaravelJobOptions, model, type ModelReference } from 'onqueue/laravel';

@LaravelJob('App\\Jobs\\SendInvoice', { tries: 3, private: ['to'], enums: { plan: 'App\\Plan' }, backoff: '10s' })
export class SendInvoice extends Job {
  constructor(
    readonly user: ModelReference,
    readonly to: string,
  ) {
    super();
  }

  handle(): string {
    return `${this.user.class} ${String(this.user.id)}`;
  }
}

export const sent: PromiseLike<string> = SendInvoice.dispatch(model('App\\Models\\User', 7), 'ada');
export const users: ModelReference = model('App\\Models\\User', [1, 2], { relations: ['posts'] });

// @ts-expect-error a model has an id of the database
model('App\\Models\\User', new Date());
// @ts-expect-error the constructor takes a model first
void SendInvoice.dispatch('ada');

// @ts-expect-error Laravel would not free its key
export const unique: LaravelJobOptions = { unique: true };
// @ts-expect-error the name comes first
export const named: LaravelJobOptions = { name: 'SendInvoice' };
// @ts-expect-error each property with its class
export const dates: LaravelJobOptions = { dates: ['at'] };

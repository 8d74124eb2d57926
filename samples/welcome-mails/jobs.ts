/** The two jobs: a welcome mail, and a follow-up some time later. */
import { Inject, Job } from 'onqueue';
import { Alerts } from './alerts';
import { isRefusedForGood, Mailer } from './mailer';

export const QUEUE = 'welcome-mails';

/** This would be a few days in production. */
const FOLLOW_UP_AFTER = '2s';

@Job({ queue: QUEUE, tries: 5, backoff: ['500ms', '1s', '2s'], timeout: '10s' })
export class SendWelcome extends Job {
  constructor(
    readonly name: string,
    readonly email: string,
  ) {
    super();
  }

  async handle(@Inject(Mailer) mailer: Mailer): Promise<void> {
    try {
      await mailer.send({
        to: this.email,
        subject: `Welcome, ${this.name}!`,
        text: 'It is good to have you with us.',
      });
    } catch (error) {
      // Retrying is useless here. Any other error is thrown, so the job is retried after its backoff.
      if (isRefusedForGood(error)) return this.fail(error);
      throw error;
    }
    await SendFollowUp.dispatch(this.name, this.email).delay(FOLLOW_UP_AFTER);
  }

  async failed(error: Error, @Inject(Alerts) alerts: Alerts): Promise<void> {
    alerts.write(`${this.name} <${this.email}> got no welcome mail: ${error.message}`);
  }
}

@Job({ queue: QUEUE, tries: 5, backoff: ['500ms', '1s', '2s'], timeout: '10s' })
export class SendFollowUp extends Job {
  constructor(
    readonly name: string,
    readonly email: string,
  ) {
    super();
  }

  async handle(@Inject(Mailer) mailer: Mailer): Promise<void> {
    await mailer.send({
      to: this.email,
      subject: `How do you like it, ${this.name}?`,
      text: 'We would love to hear from you.',
    });
  }
}

/** Sentry without a server: events are printed. */
import { init } from '@sentry/node';

init({
  dsn: 'https://key@sentry.invalid/1',
  beforeSend: ({ tags, contexts, exception }) => {
    console.log(
      `captured ${JSON.stringify({ tags, job: contexts?.['job'], values: exception?.values?.map(({ value }) => value) })}`,
    );
    return null;
  },
});

import { Env } from '@adonisjs/core/env';
export default await Env.create(new URL('../', import.meta.url), {
  PORT: Env.schema.number(),
  HOST: Env.schema.string(),
  APP_KEY: Env.schema.string(),
  REDIS_URL: Env.schema.string(),
});

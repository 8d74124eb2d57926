import env from '#start/env';
import { Secret } from '@adonisjs/core/helpers';
import { defineConfig } from '@adonisjs/core/http';
export const appKey = new Secret(env.get('APP_KEY'));
export const http = defineConfig({});

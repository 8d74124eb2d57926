/** The pages, by their addresses. */
import type { Page } from '../view';
import { overview } from './overview';

export const PAGES: Readonly<Record<string, Page>> = {
  '': overview,
};

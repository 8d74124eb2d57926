/** The style, script and icon of all pages, at addresses that change with their content. */
import { hash } from 'node:crypto';
import { assetText } from './asset-text';
import type { Answer } from './http/answer';

const TYPES = {
  'style.css': 'text/css; charset=utf-8',
  'script.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;

type Asset = keyof typeof TYPES;

/** Files that are sent as one. */
const MADE_OF: { readonly [asset in Asset]?: readonly string[] } = { 'script.js': ['morph.js', 'script.js'] };

const texts = new Map<Asset, string>();

/** `style.1a2b3c4d.css`: browsers may cache it for ever. */
export function assetAddress(asset: Asset): string {
  const [name, extension] = asset.split('.');
  return `${name}.${hash('sha256', textOf(asset)).slice(0, 8)}.${extension}`;
}

/** Undefined if there is no such asset. */
export function assetNamed(name: string): Answer | undefined {
  const asset = (Object.keys(TYPES) as Asset[]).find((each) => name === assetAddress(each));
  if (asset === undefined) return undefined;
  const headers = { 'content-type': TYPES[asset], 'cache-control': 'private, max-age=31536000, immutable' };
  return { status: 200, headers, body: textOf(asset) };
}

/** Removes comments and indentation. Each line of these files is either a comment or contains none. */
function compact(text: string): string {
  return text.replace(/^\s*(?:\/\*[^]*?\*\/|\/\/.*)$/gm, '').replace(/^\s+/gm, '');
}

function textOf(asset: Asset): string {
  const text = texts.get(asset) ?? (MADE_OF[asset] ?? [asset]).map(assetText).map(compact).join('');
  texts.set(asset, text);
  return text;
}

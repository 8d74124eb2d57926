-- keep.lua: keep the failed job of a connection that has no failed store of its own.
--
--   parts    texts failed
--
--   KEYS[1] failed        zset    id -> when it failed (s)
--   KEYS[2] failed_jobs   hash    id -> meta line, payload
--   ARGV[1] offset        number  see parts/base.lua
--   ARGV[2] id            string
--   ARGV[3] meta          string  one line of JSON: name, exception, connection
--   ARGV[4] payload       string
--   ARGV[5] own_id        string  its id if another job is kept under `id`
--
--   returns  {'kept', id}
--   keeps    I4
--   cost     O(log n)
--
--   Idempotent by nature: a repeat replaces the entry by itself, with a slightly later moment. So does a later failure
--   of the same job of the same connection, which differs only in its counters. An entry of a later attempt stays.

local failed, failed_jobs = KEYS[1], KEYS[2]
local id, meta, payload, own_id = ARGV[2], ARGV[3], ARGV[4], ARGV[5]

check_failed(failed, failed_jobs)
-- A text without its counters, and its fence.
local function told_apart(text)
  local body_end, attempts, crashes, _, _, releases = read_counters(text)
  if not body_end then return text, 0 end
  return sub(text, 1, body_end), attempts + crashes + releases
end
local function connection_of(line)
  local ok, facts = pcall(cjson.decode, line)
  return ok and type(facts) == 'table' and facts.connection
end
local entry = call('HGET', failed_jobs, id)
if entry then
  local known_meta, known_payload = entry_parts(entry)
  local known, known_fence = told_apart(known_payload)
  local body, fence = told_apart(payload)
  if known ~= body or connection_of(known_meta) ~= connection_of(meta) then
    id = own_id
  elseif known_fence > fence then
    return { 'kept', id }
  end
end
keep_failed(failed, failed_jobs, id, clock(), meta, payload)
return { 'kept', id }

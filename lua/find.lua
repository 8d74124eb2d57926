-- find.lua: look for a job by its id.
--
--   parts    texts budget search held sight
--
--   KEYS[1] ready       list    payloads ready to run
--   KEYS[2] delayed     zset    payload -> due time (s)
--   KEYS[3] reserved    zset    payload -> lease end (s)
--   KEYS[4] held        zset    jobs that wait until their lane has room: see parts/lanes.lua
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] id          string
--   ARGV[3] from        number  how many of the last ready jobs were looked at before; 0: look at both ends of ready,
--                               and at the heads of the others
--
--   returns  {'found', state, payload, score} | {'unseen', seen, others} | {'unknown'}
--            (a ready job has no score, and a held one counts as ready; 'unseen': not all was looked at. seen: how many
--            of the last ready jobs were; others: 1 if not all delayed, reserved or held jobs were. With `from`, only
--            ready jobs count)
--   keeps    writes nothing
--   cost     as far as cancel.lua looks: see parts/sight.lua

local ready, delayed, reserved, held = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, from = ARGV[2], tonumber(ARGV[3])

if from > 0 then
  local found, deeper = look_deeper(id, ready, from)
  if found then return { 'found', 'ready', found } end
  return deeper and { 'unseen', deeper, 0 } or { 'unknown' }
end

local place, payload, seen, behind = look_for(id, ready, delayed, reserved, held)
if not place then
  if not seen then return { 'unknown' } end
  return { 'unseen', behind or seen, behind and 1 or 0 }
end
local sorted_by = ({ delayed = delayed, reserved = reserved })[place]
if not sorted_by then return { 'found', 'ready', payload } end
return { 'found', place, payload, call('ZSCORE', sorted_by, payload) }

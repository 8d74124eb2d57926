-- push.lua: put payloads into a queue, ready or delayed.
--
--   KEYS[1] client      string  the recorded answer of this client
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] notify      list    wake-up hints
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--   ARGV[3] count       number  how many entries are ready at once
--   ARGV[4..] entries           the payloads of those, then for each delayed one: rule, delay, payload
--                               delay: seconds, or '@' and the moment; one that has passed makes it ready at once
--                               rule 'unique': refuse what waits as delayed already; 'any': give it the new due time
--
--   returns  {'pushed', duplicates, found} | {'stale'}      ('stale' writes nothing)
--            duplicates: places (from 1, among the delayed) of entries that were refused; the others went in;
--            found: 'unrecorded' (there is no record of an earlier call of this client) or 'recorded'
--   keeps    I1 I5 I6 I7
--   cost     O(1) for a ready entry, O(log n) for a delayed one

local client, ready, delayed, notify = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sequence, count = tonumber(ARGV[2]), tonumber(ARGV[3])
local FIRST_ENTRY = 4

local known, unrecorded = recall(client, sequence)
if known then return known end

-- All that can be refused is asked for first: a key of another type, a right that is missing.
local hints = call('LLEN', notify)
local moment, first_due = nil, nil
local due_now, added, duplicates, new = {}, {}, {}, {}
for at = FIRST_ENTRY + count, #ARGV, 3 do
  moment = moment or clock()
  local place = (at - FIRST_ENTRY - count) / 3
  local rule, due, payload = ARGV[at], due_at(moment, ARGV[at + 1]), ARGV[at + 2]
  if due <= moment then
    due_now[#due_now + 1] = payload
  elseif rule == 'unique' and (new[payload] or call('ZSCORE', delayed, payload)) then
    duplicates[#duplicates + 1] = place + 1
  else
    -- A microsecond apart, so that what was pushed in order with one delay comes up in that order.
    due = due + place
    first_due = math.min(first_due or due, due)
    added[#added + 1], added[#added + 2] = score(due), payload
    new[payload] = true
  end
end
local comes_first = first_due and call('ZCOUNT', delayed, '-inf', '(' .. score(first_due)) == 0
if first_due then call('ZADD', delayed, 'XX', 0, nobody()) end

if count > 0 then call('RPUSH', ready, unpack(ARGV, FIRST_ENTRY, FIRST_ENTRY + count - 1)) end
if #due_now > 0 then call('RPUSH', ready, unpack(due_now)) end
if first_due then call('ZADD', delayed, unpack(added)) end

-- One is enough: whoever takes it leaves another as long as there is work.
if hints == 0 and (count + #due_now > 0 or comes_first) then redis.pcall('RPUSH', notify, '1') end
return record(client, sequence, { 'pushed', duplicates, unrecorded and 'unrecorded' or 'recorded' })

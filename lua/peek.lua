-- peek.lua: show jobs of one state, in the order in which they come up.
--
--   parts    budget search held
--
--   KEYS[1] jobs        list    payloads ready to run; or a zset: payload -> due time, or lease end (s); or the jobs
--                               that wait until their lane has room, of all queues
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] state       string  'ready': the key is the list; 'held': that of the held jobs
--   ARGV[3] from        number  how many to skip
--   ARGV[4] limit       number
--   ARGV[5] queue       string  for held jobs: the key of the queue's ready list
--
--   returns  {'peeked', from, payloads, scores}
--            from: where the next call goes on; -1: there are no more; scores: empty for ready and held jobs
--   keeps    writes nothing
--   cost     O(from) for a list, O(log n) otherwise: 100 jobs or 1 MiB of text at most, and one in any case

local jobs = KEYS[1]
local state, from, limit, queue = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

local held_page = state == 'held' and held_of(jobs, queue, {})
local command, payloads, bytes, is_last = state == 'ready' and 'LRANGE' or 'ZRANGE', {}, 0, false
local function page_from(start, size)
  -- Another one as long as the last would not fit, and be read in vain.
  if start > 0 and bytes + #payloads[start] > MOST_BYTES then return {} end
  local wanted = math.min(size, limit - start)
  if wanted <= 0 then return {} end
  local page = held_page and held_page(from + start, wanted)
    or call(command, jobs, from + start, from + start + wanted - 1)
  is_last = #page < wanted
  return page
end

search(page_from, function(text)
  payloads[#payloads + 1], bytes = text, bytes + #text
end)
local scores = state ~= 'ready' and not held_page and #payloads > 0 and call('ZMSCORE', jobs, unpack(payloads))
return { 'peeked', is_last and -1 or from + #payloads, payloads, scores or {} }

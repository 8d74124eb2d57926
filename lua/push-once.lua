-- push-once.lua: put payloads into a queue, unless some were put there under this key before.
--
--   parts    texts unique ties take debounce batches join lanes arrivals
--
--   KEYS[1] mark        string  which call pushed under the key, and its answer; expires at `ending`
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] notify      list    wake-up hints
--   KEYS[5] unique      hash    unique key -> its holder, and key of a debounced job -> the job that waits
--                               Only if an entry has a lane, or with a batch:
--   KEYS[6] lanes       hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[7] held        zset    jobs that wait until their lane has room
--                               Only with a batch that the payloads belong to:
--   KEYS[8] batches     hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[9] begun_batches       zset  id of a batch -> when it began (s)
--   KEYS[10] cancelled_batches  zset  id of a cancelled batch that has not finished -> when it was cancelled (s)
--   KEYS[11..] callback_keys    of each job that a new batch sends: ready, delayed, notify of its queue
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] call_id     string  unique to this call: identifies a repeat
--   ARGV[3] ending      number  seconds since 1970: until when they may be pushed; 0: never, the key is only looked for
--   ARGV[4] count       number  from here on as in push.lua, but there may be none, and none with the rule 'unique'
--   ARGV[5] tied        number
--   ARGV[6] debounced   number
--   ARGV[7] laned_count number
--   ARGV[8..] entries
--
--   returns  {'pushed', held, replaced} | {'before'} | {'late'} | {'skipped'} | {'ended', why}
--            (only 'pushed' adds a job; 'before', 'late' and 'ended' write nothing)
--            held: places of entries that were refused because of their unique key, each with the id of its holder;
--            replaced: places of debounced ones, each with the id of the job that it replaced;
--            skipped: the batch was cancelled, but is still open: the jobs count as skipped;
--            why: the batch takes no more jobs: finished, or unknown.
--   keeps    I1 I5 I6 I12 I13 I14 I17 I18
--   cost     O(1) for a ready entry, O(log n) for a delayed one

local mark, ready, delayed, notify, unique = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local lanes, held = KEYS[6], KEYS[7]
local batches, begun_batches, cancelled_batches = KEYS[8], KEYS[9], KEYS[10]
local call_id, ending = ARGV[2], math.floor(tonumber(ARGV[3]) * 1000000)
local count, tied, debounced, laned_count = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local FIRST_TIE, callback_keys = 8, 11

local pushed, own = call('GET', mark), call_id .. ' '
if pushed and sub(pushed, 1, #own) == own then return cmsgpack.unpack(sub(pushed, #own + 1)) end
local moment = clock()
if ending > 0 and ending <= moment then return { 'late' } end
if pushed then return { 'before' } end
if ending == 0 then return { 'late' } end

-- Everything that can be refused is checked first: a key of another type, a missing right.
local hints = call('LLEN', notify)
local first_debounced = tied > 0 and FIRST_TIE + 1 + 2 * tied or FIRST_TIE
local first_ready = first_debounced + 3 * debounced
local first_delayed = first_ready + count
local keys = tied > 0 and look_up(unique, FIRST_TIE, tied)
local refused = keys and keys.refused or {}
local put = debounced > 0
  and put_off(unique, delayed, first_debounced, debounced, count, first_delayed, moment)
local joining, last_entry = nil, #ARGV
if batches then
  joining, last_entry = prepare_to_join(batches, cancelled_batches, callback_keys, refused, moment, true)
  if joining.why then return { 'ended', joining.why } end
end

local function keep(answer)
  call('SET', mark, own .. cmsgpack.pack(answer), 'PX', math.ceil((ending - moment) / 1000))
  return answer
end

local due_now, added, first_due = {}, {}, nil
for place = 1, count do
  if not refused[place] then due_now[#due_now + 1] = ARGV[first_ready + place - 1] end
end
for at = first_delayed, last_entry, 3 do
  local nth = (at - first_delayed) / 3
  local due, payload = due_at(moment, ARGV[at + 1]), ARGV[at + 2]
  local plan = put and put.plans[count + nth + 1]
  if plan then due = plan.due end
  if refused[count + nth + 1] or plan and plan.is_gone then
    -- Another job holds its key, or a later entry has replaced it.
  elseif due <= moment then
    due_now[#due_now + 1] = payload
  else
    -- A microsecond apart, so that jobs pushed in order with one delay become ready in that order.
    if not plan then due = due + nth end
    first_due = math.min(first_due or due, due)
    added[#added + 1], added[#added + 2] = score(due), payload
  end
end
local comes_first = first_due and call('ZCOUNT', delayed, '-inf', '(' .. score(first_due)) == 0
if first_due then call('ZADD', delayed, 'XX', 0, nobody()) end
if #due_now > 0 then call('LLEN', ready) end
local entering = laned_count > 0 and plan_arrivals(lanes, held, ready, due_now)

local function put_in()
  if joining and joining.is_skipped then return carry_out({ joining }) end
  local write = joining and join_batch(joining, begun_batches, ready, unique, keys)
    or keys and take(unique, keys, ready) or call
  if put then write = wait_under(unique, put, write) end
  if entering then write_arrivals(entering, write)
  elseif #due_now > 0 then write('RPUSH', ready, unpack(due_now)) end
  if first_due then write('ZADD', delayed, unpack(added)) end
end

-- Written before the jobs, which would be pushed again if the mark were refused; removed if they are refused.
local answer = { 'pushed' }
if joining and joining.is_skipped then answer = { 'skipped' }
elseif keys and keys.refused or put then answer = { 'pushed', keys and keys.held or {}, put and put.replaced or {} } end
keep(answer)
local done, problem = pcall(put_in)
if not done then
  redis.pcall('DEL', mark)
  error(problem)
end
if answer[1] == 'skipped' then return answer end
if put then remove_replaced(unique, put, delayed) end

-- One hint is enough: whoever takes it leaves another one as long as there is work.
local made_ready = entering and entering.ready or due_now
if hints == 0 and (#made_ready > 0 or comes_first) then redis.pcall('RPUSH', notify, '1') end
return answer

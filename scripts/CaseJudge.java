import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.functions.TimedOutPartialMatchHandler;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.aftermatch.SkipToFirstStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.*;
import org.apache.flink.streaming.api.windowing.evictors.*;
import org.apache.flink.streaming.api.windowing.triggers.*;
import org.apache.flink.streaming.api.windowing.windows.*;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/** Runs cases of windows and patterns on Flink: a file of cases in, a file of results out. */
public class CaseJudge {
    static final ObjectMapper JSON = new ObjectMapper();
    static final OutputTag<Tuple3<String, Long, Long>> LATE = new OutputTag<>("late") {};
    static final OutputTag<String> GIVEN_UP = new OutputTag<>("given up") {};
    static final String MARK = "watermark";

    public static void main(String[] args) throws Exception {
        ObjectNode results = JSON.createObjectNode();
        for (JsonNode one : JSON.readTree(new File(args[0]))) {
            String id = one.get("id").asText();
            try {
                List<String> found =
                        one.has("pattern") ? matches(one) : one.has("times") ? assigned(one) : panes(one);
                results.set(id, JSON.valueToTree(found));
            } catch (Throwable error) {
                System.out.println(id + ": " + error);
                if (one.has("fails")) results.set(id, JSON.valueToTree(List.of("error")));
            }
        }
        JSON.writeValue(new File(args[1]), results);
    }

    static StreamExecutionEnvironment environment() {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1);
        env.getConfig().setAutoWatermarkInterval(0);
        return env;
    }

    /** Moves time only where a record says so. */
    static class ByMarks implements WatermarkGenerator<Tuple3<String, Long, Long>> {
        public void onEvent(Tuple3<String, Long, Long> event, long time, WatermarkOutput output) {
            if (event.f0.equals(MARK)) {
                output.emitWatermark(new org.apache.flink.api.common.eventtime.Watermark(event.f2));
            }
        }

        public void onPeriodicEmit(WatermarkOutput output) {}
    }

    static SingleOutputStreamOperator<Tuple3<String, Long, Long>> records(
            List<Tuple3<String, Long, Long>> steps) {
        return environment()
                .fromData(steps)
                .assignTimestampsAndWatermarks(
                        WatermarkStrategy.<Tuple3<String, Long, Long>>forGenerator(c -> new ByMarks())
                                .withTimestampAssigner((event, time) -> event.f2))
                .filter(event -> !event.f0.equals(MARK));
    }

    // Windows.

    @SuppressWarnings({"unchecked", "rawtypes"})
    static List<String> panes(JsonNode one) throws Exception {
        List<Tuple3<String, Long, Long>> steps = new ArrayList<>();
        for (JsonNode step : one.get("steps")) {
            steps.add(
                    step.isArray()
                            ? Tuple3.of(step.get(0).asText(), step.get(1).asLong(), step.get(2).asLong())
                            : Tuple3.of(MARK, 0L, step.asLong()));
        }
        WindowedStream windows =
                records(steps).keyBy(event -> event.f0).window((WindowAssigner) assigner(one.get("assigner")));
        if (one.has("trigger")) windows = windows.trigger(trigger(one.get("trigger")));
        if (one.has("evictor")) {
            JsonNode part = one.get("evictor");
            windows =
                    windows.evictor(
                            part.get("type").asText().equals("count")
                                    ? CountEvictor.of(part.get("n").asLong())
                                    : TimeEvictor.of(Duration.ofMillis(part.get("size_ms").asLong())));
        }
        if (one.has("lateness_ms")) {
            windows = windows.allowedLateness(Duration.ofMillis(one.get("lateness_ms").asLong()));
        }
        if (one.has("late_output")) windows = windows.sideOutputLateData(LATE);
        SingleOutputStreamOperator<String> told =
                windows.process((ProcessWindowFunction) new Told(one.get("function").asText()));
        SingleOutputStreamOperator<String> late = told.getSideOutput(LATE).process(new Stamped());
        List<String> found = new ArrayList<>();
        try (var results = told.union(late).executeAndCollect()) {
            results.forEachRemaining(found::add);
        }
        return found;
    }

    static class Told extends ProcessWindowFunction<Tuple3<String, Long, Long>, String, String, Window> {
        final String function;

        Told(String function) {
            this.function = function;
        }

        public void process(
                String key, Context context, Iterable<Tuple3<String, Long, Long>> elements,
                Collector<String> out) {
            long sum = 0;
            for (Tuple3<String, Long, Long> each : elements) sum += each.f1;
            Window window = context.window();
            String value = "[\"" + key + "\", " + sum + "]";
            if (!function.equals("reduce")) {
                TimeWindow span = (TimeWindow) window;
                value = "[\"" + key + "-" + sum + "\", " + span.getStart() + ", " + span.getEnd() + "]";
            }
            out.collect("pane [" + value + ", " + window.maxTimestamp() + "]");
        }
    }

    static class Stamped extends ProcessFunction<Tuple3<String, Long, Long>, String> {
        public void processElement(Tuple3<String, Long, Long> late, Context ctx, Collector<String> out) {
            out.collect("late [[\"" + late.f0 + "\", " + late.f1 + "], " + late.f2 + "]");
        }
    }

    /** The windows of each time, and where a window of this size and offset would begin. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    static List<String> assigned(JsonNode one) {
        List<String> found = new ArrayList<>();
        WindowAssigner assigner = assigner(one.get("assigner"));
        long size = one.get("assigner").path("size_ms").asLong(1000);
        long offset = one.get("assigner").path("offset_ms").asLong(0);
        for (JsonNode time : one.get("times")) {
            List<List<Long>> spans = new ArrayList<>();
            for (Object each : assigner.assignWindows("a record", time.asLong(), null)) {
                spans.add(List.of(((TimeWindow) each).getStart(), ((TimeWindow) each).getEnd()));
            }
            long start = TimeWindow.getWindowStartWithOffset(time.asLong(), offset, size);
            found.add("[" + time.asLong() + ", " + spans + ", " + start + "]");
        }
        return found;
    }

    static WindowAssigner<?, ?> assigner(JsonNode part) {
        Duration offset = Duration.ofMillis(part.path("offset_ms").asLong(0));
        Duration size = Duration.ofMillis(part.path("size_ms").asLong(0));
        switch (part.get("type").asText()) {
            case "tumbling_event_time":
                return TumblingEventTimeWindows.of(size, offset);
            case "sliding_event_time":
                return SlidingEventTimeWindows.of(size, Duration.ofMillis(part.get("slide_ms").asLong()), offset);
            case "session_event_time":
                return EventTimeSessionWindows.withGap(Duration.ofMillis(part.get("gap_ms").asLong()));
            default:
                return GlobalWindows.create();
        }
    }

    static Trigger trigger(JsonNode part) {
        switch (part.get("type").asText()) {
            case "count":
                return CountTrigger.of(part.get("n").asLong());
            case "purging":
                return PurgingTrigger.of(trigger(part.get("inner")));
            case "continuous_event_time":
                return ContinuousEventTimeTrigger.of(Duration.ofMillis(part.get("interval_ms").asLong()));
            default:
                return EventTimeTrigger.create();
        }
    }

    // Patterns.

    @SuppressWarnings({"unchecked", "rawtypes"})
    static List<String> matches(JsonNode one) throws Exception {
        List<Tuple3<String, Long, Long>> steps = new ArrayList<>();
        for (JsonNode event : one.get("events")) {
            steps.add(Tuple3.of(event.get(0).asText(), event.get(1).asLong(), event.get(2).asLong()));
            steps.add(Tuple3.of(MARK, 0L, event.get(2).asLong()));
        }
        Pattern<Tuple3<String, Long, Long>, ?> pattern = pattern(one);
        SingleOutputStreamOperator<String> found =
                CEP.pattern(records(steps), pattern).inEventTime().process(new Found());
        List<String> lines = new ArrayList<>();
        try (var results = found.union(found.getSideOutput(GIVEN_UP)).executeAndCollect()) {
            results.forEachRemaining(lines::add);
        }
        return lines;
    }

    static class Found extends PatternProcessFunction<Tuple3<String, Long, Long>, String>
            implements TimedOutPartialMatchHandler<Tuple3<String, Long, Long>> {
        public void processMatch(
                Map<String, List<Tuple3<String, Long, Long>>> match, Context ctx, Collector<String> out) {
            out.collect("match " + shown(match));
        }

        public void processTimedOutMatch(
                Map<String, List<Tuple3<String, Long, Long>>> match, Context ctx) {
            ctx.output(GIVEN_UP, "timeout " + ctx.timestamp() + " " + shown(match));
        }
    }

    /** Events are told apart by their price. */
    static String shown(Map<String, List<Tuple3<String, Long, Long>>> match) {
        ObjectNode node = JSON.createObjectNode();
        match.forEach((name, events) ->
                node.set(name, JSON.valueToTree(events.stream().map(event -> event.f1).toList())));
        return node.toString();
    }

    static class Condition extends SimpleCondition<Tuple3<String, Long, Long>> {
        final String text;

        Condition(String text) {
            this.text = text;
        }

        public boolean filter(Tuple3<String, Long, Long> event) {
            for (String part : text.split(" and ")) {
                String[] words = part.trim().split(" ");
                boolean holds;
                if (words[0].equals("ev.name")) holds = words[2].equals("'" + event.f0 + "'");
                else if (words[1].equals(">")) holds = event.f1 > Long.parseLong(words[2]);
                else holds = event.f1 < Long.parseLong(words[2]);
                if (!holds) return false;
            }
            return true;
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static Pattern pattern(JsonNode one) {
        AfterMatchSkipStrategy skip = AfterMatchSkipStrategy.noSkip();
        if (one.has("skip")) {
            JsonNode part = one.get("skip");
            switch (part.get("strategy").asText()) {
                case "SKIP_PAST_LAST_EVENT": skip = AfterMatchSkipStrategy.skipPastLastEvent(); break;
                case "SKIP_TO_NEXT": skip = AfterMatchSkipStrategy.skipToNext(); break;
                case "SKIP_TO_FIRST": skip = AfterMatchSkipStrategy.skipToFirst(part.get("pattern").asText()); break;
                default: skip = AfterMatchSkipStrategy.skipToLast(part.get("pattern").asText());
            }
        }
        if (one.has("fails")) {
            skip = ((SkipToFirstStrategy) skip).throwExceptionOnMiss();
        }
        Pattern made = null;
        for (JsonNode step : one.get("pattern")) {
            String[] words = step.asText().split(" ", 2);
            String rest = words.length > 1 ? words[1] : "";
            switch (words[0]) {
                case "begin": made = Pattern.begin(rest, skip); break;
                case "next": made = made.next(rest); break;
                case "followedBy": made = made.followedBy(rest); break;
                case "followedByAny": made = made.followedByAny(rest); break;
                case "notNext": made = made.notNext(rest); break;
                case "notFollowedBy": made = made.notFollowedBy(rest); break;
                case "where": made = made.where(new Condition(rest)); break;
                case "or": made = made.or(new Condition(rest)); break;
                case "until": made = made.until(new Condition(rest)); break;
                case "oneOrMore": made = made.oneOrMore(); break;
                case "greedy": made = made.greedy(); break;
                case "optional": made = made.optional(); break;
                case "consecutive": made = made.consecutive(); break;
                case "allowCombinations": made = made.allowCombinations(); break;
                case "timesOrMore": made = made.timesOrMore(Integer.parseInt(rest)); break;
                case "within": made = made.within(Duration.ofMillis(Long.parseLong(rest))); break;
                case "times":
                    String[] bounds = rest.split(" ");
                    made = bounds.length == 1 ? made.times(Integer.parseInt(bounds[0]))
                            : made.times(Integer.parseInt(bounds[0]), Integer.parseInt(bounds[1]));
                    break;
                default: throw new IllegalArgumentException(step.asText());
            }
        }
        return made;
    }
}

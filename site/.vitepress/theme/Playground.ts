/** The playground on a page. Its code is loaded when it is needed, so pages with one are as light as the others. */
import { defineAsyncComponent, defineComponent, h, onMounted, ref } from "vue";

const View = defineAsyncComponent(
  async () => (await import("../../playground/playground.ts")).PlaygroundView,
);

export const Playground = defineComponent({
  props: {
    program: { type: String, default: "" },
    /** Opened by a button, in the middle of a guide. */
    folded: { type: Boolean, default: false },
  },
  setup(props) {
    const isOpen = ref(false);
    const program = ref(props.program);
    onMounted(() => {
      // An embedded page is told its program in its address.
      program.value ||= new URLSearchParams(location.search).get("program") ?? "story";
      if (!props.folded) isOpen.value = true;
    });
    return () =>
      isOpen.value
        ? h(View, { program: program.value, isWhole: !props.folded })
        : h("div", { class: ["pg-place", { "pg-folded": props.folded }] }, [
            props.folded
              ? h(
                  "button",
                  {
                    class: "pg-button pg-main",
                    onClick: () => {
                      isOpen.value = true;
                    },
                  },
                  "Try it here: run it, crash it, continue it",
                )
              : null,
          ]);
  },
});
